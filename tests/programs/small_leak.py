"""A training that keeps 4 KiB of each step, far below the size that is followed. `fixed` keeps numbers, `ring` the latest
batches only, 200 KiB: that much more is not four times 64 KiB. The first number is that of the steps."""

import sys

import torch
from torch import nn


def main(steps: int, kind: str) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Linear(32, 32)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    history = []
    for _ in range(steps):
        batch = torch.randn(32, 32)  # 4 KiB
        net(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        history.append(batch if kind != "fixed" else batch.mean().item())
        if kind == "ring" and len(history) > 50:
            history.pop(0)
    print(len(history))


main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
