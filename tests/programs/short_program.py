"""Eight steps of a program that keeps tensors until it ends, and leaves its recorder no time to read its memory before. If it
keeps nothing, it has its memory read before it ends.

Usage: short_program.py nothing|list|cycle|detached|traceback
Prints when its handlers of exit began, and when they were over, that of dc-memtrace included: nanoseconds of
CLOCK_MONOTONIC.
"""

import atexit
import sys
import time


def print_time():
    print(time.monotonic_ns())


atexit.register(print_time)  # what is registered first is called last

import torch  # noqa: E402
from torch import nn  # noqa: E402

atexit.register(print_time)
WHAT = sys.argv[1]
SIZE = 20_000  # 80 KB: a storage that is followed
KEPT = []
ERROR = None


class Kept:
    def __init__(self, x):
        self.x = x.detach() if WHAT == "detached" else x


def fail():
    lost = torch.full((SIZE,), 1.0)
    raise ValueError(lost.numel())


torch.manual_seed(0)
model = nn.Linear(128, 160)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(8):
    x = torch.randn(130, 128)
    if WHAT == "list":
        KEPT.append(torch.full((SIZE,), float(step)))
    if WHAT in ("cycle", "detached"):
        with torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.x):
            model(x).sigmoid()
    if WHAT == "traceback" and step == 2:
        try:
            fail()
        except ValueError as error:
            ERROR = error
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
if WHAT == "nothing":
    del x  # the last step's
    import dc_memtrace

    dc_memtrace.find_holders(timeout=60)
