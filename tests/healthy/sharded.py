"""Weights that are whole only while they are used, as ZeRO-3's: each use gathers, computes and releases.

With `plant`, one tensor that was released in the middle of the run is kept: a residual reference, or a buffer that its
pool has to replace.
"""

from __future__ import annotations

import dc_memtrace as dm
import torch

PLANTED_RELEASE = 5


class Weights:
    """One program's parameters. `graph` distinguishes its findings from those of others."""

    def __init__(self, graph: int, plant: bool) -> None:
        self.graph, self.plant = graph, plant
        self.whole: dict[int, torch.Tensor] = {}
        self.kept: list[torch.Tensor] = []
        self.releases = 0

    def buffer(self, shard: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(shard)

    def give_back(self, buffer: torch.Tensor) -> None:
        """The buffer is of no use any more."""

    def gather(self, key: int, shard: torch.Tensor) -> torch.Tensor:
        whole = self.buffer(shard)
        whole.copy_(shard.detach())
        dm.gather(key, whole, graph=self.graph)
        self.whole[key] = whole
        return whole

    def release(self, key: int, users: int = 1, last: bool = True) -> None:
        """`users`: how many releases there are in all; the last one frees."""
        with dm.release(key, users=users, graph=self.graph):
            if last:
                self.free(self.whole.pop(key))

    def free(self, whole: torch.Tensor) -> None:
        self.releases += 1
        if self.plant and self.releases == PLANTED_RELEASE:
            self.kept.append(whole)
        else:
            self.give_back(whole)


class Pool(Weights):
    """Hands the same few buffers from gather to gather: last in, first out."""

    def __init__(self, graph: int, plant: bool, size: int) -> None:
        super().__init__(graph, plant)
        self.size = size
        self.free_buffers: list[torch.Tensor] = []

    def buffer(self, shard: torch.Tensor) -> torch.Tensor:
        while len(self.free_buffers) + len(self.whole) < self.size:
            self.free_buffers.append(torch.empty_like(shard))
        return self.free_buffers.pop()

    def give_back(self, buffer: torch.Tensor) -> None:
        self.free_buffers.append(buffer)


class Ring(Pool):
    """The same, first in, first out."""

    def give_back(self, buffer: torch.Tensor) -> None:
        self.free_buffers.insert(0, buffer)


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, shard, weights, key):
        ctx.save_for_backward(x, shard)
        ctx.weights, ctx.key = weights, key
        try:
            return x @ weights.gather(key, shard).t()
        finally:
            weights.release(key)

    @staticmethod
    def backward(ctx, gradient):
        x, shard = ctx.saved_tensors
        try:
            into_x = gradient @ ctx.weights.gather(ctx.key, shard)
        finally:
            ctx.weights.release(ctx.key)
        return into_x, gradient.t() @ x, None, None


class Linear(torch.nn.Module):
    def __init__(self, weights: Weights, key: int, width: int, out: int | None = None) -> None:
        super().__init__()
        self.weights, self.key = weights, key
        self.shard = torch.nn.Parameter(torch.randn(out or width, width) / width**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Multiply.apply(x, self.shard, self.weights, self.key)


def model(weights: Weights, width: int, layers: int = 3) -> torch.nn.Sequential:
    blocks = [torch.nn.Sequential(Linear(weights, key, width), torch.nn.Tanh()) for key in range(layers)]
    return torch.nn.Sequential(*blocks)


def train(network: torch.nn.Module, width: int, steps: int = 4, rows: int = 8) -> float:
    """Ordinary training; the last loss."""
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = network(torch.randn(rows, width)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()
