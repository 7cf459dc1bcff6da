"""A few steps of training."""

import torch


def train(model, optimizer, kept: list | None, backward=torch.Tensor.backward) -> None:
    """Appends each output to `kept`, if there is such a list."""
    for _ in range(12):
        output = model(torch.randn(256, 256))
        if kept is not None:
            kept.append(output.detach())
        optimizer.zero_grad()
        backward(output.square().mean())
        optimizer.step()
