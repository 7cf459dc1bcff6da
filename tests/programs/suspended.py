"""An evaluation whose leaks hang on suspended iterators: a list of generators keeps the block of each, and one iterator of
itertools.tee, which nobody reads, keeps what the other one has returned.

Usage: suspended.py [generators] [tee]. What has the first names is not kept. It waits at its end until the recorder has found
the holders.
"""

import itertools
import sys

import dc_memtrace
import torch

STEPS = 30


def rows(step):
    block = torch.full((100, 200), float(step))
    for row in block:
        yield row


def batches():
    for _ in range(STEPS):
        yield torch.randn(150, 200)


def main():
    torch.set_num_threads(1)
    weight = torch.randn(200, 50)
    first, ahead = itertools.tee(batches()) if "tee" not in sys.argv else (batches(), None)
    streams = []
    total = 0.0
    for step in range(STEPS):
        stream = rows(step)
        total += (next(stream) @ weight).sum().item()
        if "generators" not in sys.argv:
            streams.append(stream)
        total += (next(first) @ weight).mean().item()
    dc_memtrace.find_holders(timeout=60)
    print(total, len(streams), ahead)


main()
