"""A small GPT as a list of units: the input of each is the output of the one before it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Embedding(nn.Module):
    def __init__(self, vocabulary: int, tokens: int, width: int):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.randn(tokens, width) * 0.02)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.token(ids) + self.position


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Head(nn.Module):
    def __init__(self, width: int, vocabulary: int):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.norm(x))


def gpt(layers: int, width: int, heads: int, vocabulary: int, tokens: int) -> list[nn.Module]:
    blocks = [Block(width, heads) for _ in range(layers)]
    return [Embedding(vocabulary, tokens, width), *blocks, Head(width, vocabulary)]
