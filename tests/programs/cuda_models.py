"""Models for programs that train on a GPU: a GPT in plain modules, and ResNet-18 from torchvision."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, tokens: int, vocabulary: int = 8192) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(
    layers: int = 12, width: int = 768, batch: int = 2, tokens: int = 256, passes: int = 1, compiled: bool = False
) -> Callable:
    """One training step as a function that returns the loss: bf16 autocast, AdamW without foreach or fused kernels.

    passes: forward and backward passes that gather gradients for one step of the optimizer.
    """
    model = Gpt(layers, width, width // 64, tokens).cuda()
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    ids = torch.randint(8192, (batch, tokens + 1), device="cuda")

    def step() -> torch.Tensor:
        for _ in range(passes):
            with torch.autocast("cuda", torch.bfloat16):
                logits = forward(ids[:, :-1])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            del logits
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def resnet() -> Callable:
    import torchvision

    model = torchvision.models.resnet18(num_classes=100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(8, 3, 64, 64, device="cuda"), torch.randint(100, (8,), device="cuda")

    def step() -> torch.Tensor:
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def graph() -> Callable:
    """A whole training step that is captured once, in a pool of its own, and then replayed."""
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(64, 512, device="cuda")

    def train() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            train()
    torch.cuda.current_stream().wait_stream(aside)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        result = train()

    def step() -> torch.Tensor:
        captured.replay()
        return result.clone()

    return step


def streams() -> Callable:
    """Blocks of two streams: some are freed while the other stream still uses them, and segments come and go."""
    aside = torch.cuda.Stream()
    numbers = torch.randn(1 << 20, device="cuda")
    done = 0

    def step() -> torch.Tensor:
        nonlocal done
        done += 1
        used = numbers * 2  # this stream's, and the other one reads it
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            torch.cuda._sleep(100_000_000)  # the free is asked for before the last use is over
            for _ in range(20):
                total = (used * used).sum()  # the other stream's
        used.record_stream(aside)
        del used  # freed, but not done
        torch.cuda.current_stream().wait_stream(aside)
        large = torch.empty(done << 25, device="cuda", dtype=torch.uint8)
        del large
        if done % 2 == 0:
            torch.cuda.empty_cache()
        return total.detach()

    return step


MODELS: dict[str, Callable[[], Callable]] = {
    "gpt": gpt,
    "gpt_compiled": lambda: gpt(compiled=True),
    "gpt_wide": lambda: gpt(layers=12, width=2048, batch=4, tokens=1024, passes=8),
    "gpt_wide_compiled": lambda: gpt(layers=12, width=2048, batch=4, tokens=1024, passes=8, compiled=True),
    "resnet": resnet,
    "graph": graph,
    "streams": streams,
}
