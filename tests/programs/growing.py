"""Memory that grows in many ways at once, each from a line of its own.

Usage: growing.py [NAME...]. Of what has these names it keeps numbers instead of tensors; `all`: of everything. After 24
steps it waits until the recorder has read its memory, if there is one that does, then it goes on for six.
"""

import collections
import functools
import sys

import dc_memtrace
import torch
from torch import nn

CLEAN = sys.argv[1:]
SIZE = 20_000  # 80 KB: a storage that is followed
CACHE = {}


def keep(name, tensor):
    return tensor.sum().item() if name in CLEAN or "all" in CLEAN else tensor


class Probe:
    seen_by_class = []

    def __init__(self):
        self.seen = []

    def save(self, module, args, out):
        self.seen.append(keep("seen", out))

    def save_inputs(self, module, args):
        self.seen.append(keep("inputs", args[0].clone()))


class Slots:
    __slots__ = ("rows",)

    def __init__(self):
        self.rows = []


class Tagged:
    pass


@functools.lru_cache(maxsize=None)
def table(step):
    return keep("table", torch.full((SIZE,), float(step)))


def counter():
    kept = []

    def count(tensor):
        kept.append(keep("count", tensor))

    return count


def main():
    torch.manual_seed(0)
    model, probe, slots, count = nn.Sequential(nn.Linear(128, 160), nn.Linear(160, 1)), Probe(), Slots(), counter()
    model[0].register_buffer("mask", torch.ones(SIZE))  # so that the modules of the model hold something as well
    model[1].register_buffer("mask", torch.ones(SIZE))
    model[0].register_forward_hook(probe.save)
    model[0].register_forward_pre_hook(Probe().save_inputs)
    losses, by_step, queue, nested, first, second = [], {}, collections.deque(), {"log": []}, [], []
    tagged = Tagged()
    total = torch.zeros(())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(30):
        if step == 24:
            dc_memtrace.find_holders(timeout=60)
        x = torch.randn(130, 128)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        kept = torch.randn(SIZE, requires_grad=True)
        score = (kept * 2).square().sum()
        losses.append(keep("losses", score))
        by_step[step] = keep("by_step", torch.randn(SIZE))
        queue.append(keep("queue", torch.randn(SIZE)))
        nested["log"].append({"output": keep("nested", torch.randn(SIZE))})
        slots.rows.append(keep("slots", torch.randn(SIZE)))
        Probe.seen_by_class.append(keep("seen_by_class", torch.randn(SIZE)))
        CACHE[f"step {step}"] = keep("CACHE", torch.randn(SIZE))
        setattr(tagged, f"step_{step}", keep("tagged", torch.randn(SIZE)))
        count(torch.randn(SIZE))
        table(step)
        pair = keep("pair", torch.randn(SIZE))
        first.append(pair)
        second.append(pair)
        total = total + keep("total", (torch.randn(SIZE, requires_grad=True) * 2).square().mean())
        del kept, score, pair, x, loss
    print(len(losses), len(by_step), len(queue), len(nested["log"]), len(slots.rows), float(total) >= 0)


main()
