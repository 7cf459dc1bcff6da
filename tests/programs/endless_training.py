"""Trains a small network until it is killed; prints its process id when the first step is done."""

from __future__ import annotations

import os

import torch


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.Tanh(), torch.nn.Linear(256, 128))
    optimizer = torch.optim.AdamW(model.parameters())
    printed = False
    while True:
        optimizer.zero_grad()
        model(torch.randn(512, 128)).square().mean().backward()
        optimizer.step()
        if not printed:
            print(os.getpid(), flush=True)
            printed = True


if __name__ == "__main__":
    main()
