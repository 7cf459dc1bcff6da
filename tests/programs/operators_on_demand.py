"""Allocates memory in places that an operator's name alone does not distinguish: inside a hook that an operator calls, by
one helper called from two functions, in a backward of Python's. With --gather, something is gathered first. --sizes prints
the storages' bytes in that order, and the one of a plain operator."""

from __future__ import annotations

import argparse

import torch
from torch import nn

import dc_memtrace

HOOK, FIRST, SECOND, BACKWARD, PLAIN = (4 * 1000 * (100 + number) for number in range(5))


def copy(tensor: torch.Tensor) -> torch.Tensor:
    torch.ones(HOOK // 4)
    return tensor


def pack(tensor: torch.Tensor) -> torch.Tensor:
    return copy(tensor)


def forward_with_hooks(weight: torch.Tensor) -> torch.Tensor:
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        return weight.exp().sum()  # exp saves its result


def fill(size: int) -> torch.Tensor:
    return torch.full((size // 4,), 1.0)


def first() -> torch.Tensor:
    return fill(FIRST)


def second() -> torch.Tensor:
    return fill(SECOND)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        torch.ones(BACKWARD // 4)
        return grad * 2


def step(model: nn.Module, optimizer: torch.optim.Optimizer, weight: torch.Tensor) -> None:
    loss = Scale.apply(model(torch.ones(8, 64))).sum() + forward_with_hooks(weight)
    first(), second()
    torch.zeros(PLAIN // 4)
    torch.mm(torch.ones(200, 200), torch.ones(200, 200))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gather", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    arguments = parser.parse_args()
    if arguments.sizes:
        print(HOOK, FIRST, SECOND, BACKWARD, PLAIN)
        return
    torch.manual_seed(0)
    model = nn.Linear(64, 64)
    weight = torch.zeros(100, requires_grad=True)
    optimizer = torch.optim.SGD([*model.parameters(), weight], lr=0.1)
    if arguments.gather:
        dc_memtrace.gather(0, torch.ones(10))
    for _ in range(2):
        step(model, optimizer, weight)


if __name__ == "__main__":
    main()
