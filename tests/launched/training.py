"""Some steps of training."""

import itertools
import os
import pathlib

import torch


def steps():
    """Twelve. If LAUNCHED_FOLDER is set, they have no end, and the process leaves its number there after the first one."""
    yield 0
    if folder := os.environ.get("LAUNCHED_FOLDER"):
        pathlib.Path(folder, str(os.getpid())).touch()
        yield from itertools.count(1)
    yield from range(1, 12)


def train(model, optimizer, kept: list | None, backward=torch.Tensor.backward) -> None:
    """Appends each output to `kept`, if there is such a list."""
    for _ in steps():
        output = model(torch.randn(256, 256))
        if kept is not None:
            kept.append(output.detach())
        optimizer.zero_grad()
        backward(output.square().mean())
        optimizer.step()
