"""Trains a small model, with or without checkpoints around its blocks.

Usage: checkpointed.py MODEL [PATTERN [DEVICE]]. PATTERN names modules, a * for a number: "layers.*". With it, each call of such a module is
computed again in the backward.
"""

import re
import sys

import torch
from small_models import MODELS, loss_of
from torch import nn
from torch.utils.checkpoint import checkpoint


def add_checkpoints(model: nn.Module, pattern: str) -> None:
    matches = re.compile(re.escape(pattern).replace(r"\*", r"\d+")).fullmatch
    for name, module in model.named_modules():
        if matches(name):
            forward = module.forward

            def checkpointed(*inputs, forward=forward, **named):
                return checkpoint(forward, *inputs, use_reentrant=False, **named)

            module.forward = checkpointed


def main():
    model, batch, target = MODELS[sys.argv[1]]()
    model.to(sys.argv[3] if len(sys.argv) > 3 else "cpu")
    if len(sys.argv) > 2 and sys.argv[2]:
        add_checkpoints(model, sys.argv[2])
    device = next(model.parameters()).device
    batch, target = batch.to(device), target.to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        loss_of(model(batch), target).backward()
        optimizer.step()


main()
