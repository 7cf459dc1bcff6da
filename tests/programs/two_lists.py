"""A training of 0.7 s inside main() whose leaks are locals of it: a forward hook keeps outputs of a layer, and losses of
a validation are kept with their graphs.

Usage: two_lists.py [hook] [loss] [twice] [ask]. Of what has the first names it keeps numbers instead; with `twice`, a list
in a library has the hook's outputs, too; with `ask`, it waits at its end until the recorder has found the holders.
"""

import sys

import dc_memtrace
import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Probe:
    """Keeps a layer's output, to count dead units later."""

    def __init__(self):
        self.seen = []

    def save(self, module, args, out):
        if "twice" in sys.argv:
            nn.kept.append(out)
        self.seen.append(out if "hook" not in sys.argv else (out == 0).float().mean().item())


class Net(nn.Module):
    def __init__(self, width=256, layers=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


nn.kept = []


def main(steps=40):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, probe, losses = Net(), Probe(), []
    model.layers[3].register_forward_hook(probe.save)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        x, y = torch.randn(512, 256), torch.randint(0, 10, (512,))
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 4 == 3:
            v = cross_entropy(model(torch.randn(512, 256)), y)
            losses.append(v if "loss" not in sys.argv else v.item())
    if "ask" in sys.argv:
        dc_memtrace.find_holders(timeout=60)
    print(len(losses), len(probe.seen))
    nn.kept.clear()


main()
