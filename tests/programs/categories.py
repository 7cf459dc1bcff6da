"""Trains a small model: what its memory is for, by an independent count, at the end of a forward pass.

Usage: categories.py gpt|vit|lora [count]. With `count` it prints, as JSON, the bytes of the distinct storages of 64 KiB and more by what
they are for where the recorded run has the mark "full": parameters and buffers by the modules' own lists, gradients
by the parameters, optimizer state by the optimizer, and what autograd has saved by hooks. The recorded run asks for readings in two
steps before that mark: how many there are without that depends on the machine.
"""

import copy
import json
import sys

import dc_memtrace
import torch
from torch import nn
from torch.nn import functional as F

STEPS, READ, FULL, FOLLOWED = 12, (4, 8), 11, 64 * 1024
WIDTH, HEADS, LENGTH = 512, 8, 64


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.wide = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.wide(x)


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(1000, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, 1000)
        self.register_buffer("mask", torch.ones(256, 256))

    def forward(self, x):
        x = self.words(x) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 8, 8)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 3)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x):
        return self.head(self.layers(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class LowRank(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(64, base.in_features) * 0.01)
        self.b = nn.Parameter(torch.zeros(base.out_features, 64))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


def make(kind):
    if kind == "vit":
        return Vit()
    model = Gpt()
    if kind == "lora":
        model.requires_grad_(False)
        for block in model.blocks:
            block.attention.qkv, block.attention.out = LowRank(block.attention.qkv), LowRank(block.attention.out)
    return model


def batch(kind):
    if kind == "vit":
        return torch.randn(8, 3, 64, 64), torch.randint(10, (8,))
    words = torch.randint(1000, (8, LENGTH + 1))
    return words[:, :-1], words[:, 1:].reshape(-1)


def forward(kind, model, data, target):
    with torch.autocast("cpu", torch.bfloat16, enabled=kind == "vit"):
        out = model(data)
        return F.cross_entropy(out.reshape(target.numel(), -1).float(), target)


def sums(**groups):
    """Bytes of each group's storages that no earlier group has."""
    met, result = set(), {}
    for name, tensors in groups.items():
        result[name] = 0
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.nbytes() < FOLLOWED or storage.data_ptr() in met:
                continue
            met.add(storage.data_ptr())
            result[name] += storage.nbytes()
    return result


def main(kind, counts):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = make(kind)
    average = copy.deepcopy(model) if kind == "vit" else None
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], foreach=False)
    full = 1 if counts else FULL  # every step but the first has the same
    for step in range(STEPS):
        saved = []
        for half in range(2):  # of the accumulated gradients the second half sees those of the first
            data, target = batch(kind)
            if counts and step == full and half == 1:
                with torch.autograd.graph.saved_tensors_hooks(lambda each: saved.append(each) or each, lambda each: each):
                    loss = forward(kind, model, data, target)
                modules = [each for each in (model, average) if each is not None]
                parameters = [each for module in modules for each in module.parameters()]
                print(json.dumps(sums(**{
                    "parameter": parameters,
                    "gradient": [each.grad for each in parameters if each.grad is not None],
                    "optimizer state": [each for state in optimizer.state.values() for each in state.values()],
                    "buffer": [each for module in modules for each in module.buffers()],
                    "saved for backward": saved,
                })))  # fmt: skip
                return
            loss = forward(kind, model, data, target)
            if half == 1 and step in READ:
                assert dc_memtrace.find_holders(timeout=60)
            if half == 1 and step == full:
                dc_memtrace.mark("full")
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if average is not None:
            with torch.no_grad():
                for mean, now in zip(average.parameters(), model.parameters(), strict=True):
                    mean.lerp_(now, 0.01)


if __name__ == "__main__":
    main(sys.argv[1], "count" in sys.argv)
