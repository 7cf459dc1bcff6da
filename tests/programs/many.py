"""Very many of one thing, and no steps: keys, keys on one buffer, or small tensors. Prints what a trace must say.

many.py keys N      N keys with a buffer each, gathered and released twice; every thousandth buffer outlives its release
many.py one N       N keys on one buffer that outlives all releases
many.py tensors N   N small tensors, 5,000 alive at once
"""

from __future__ import annotations

import json
import sys

import dc_memtrace
import torch


def keys(count: int) -> dict:
    kept = []
    for _ in range(2):
        buffers = [torch.empty(64) for _ in range(count)]
        for key, buffer in enumerate(buffers):
            dc_memtrace.gather(key, buffer)
        del buffer
        for key in range(count):
            with dc_memtrace.release(key):
                buffer, buffers[key] = buffers[key], None
                if key % 1000 == 0:
                    kept.append(buffer)
                del buffer
            if key % 500 == 0:
                torch.ones(2)  # releases are judged at the next operator
        torch.ones(2)
    return {"releases": 2 * count, "kept": len(kept)}


def one(count: int) -> dict:
    buffer = torch.empty(100_000)
    for key in range(count):
        dc_memtrace.gather(key, buffer)
    for key in range(count):
        with dc_memtrace.release(key):
            pass
    torch.ones(2)
    return {"releases": count, "kept": count}


def tensors(count: int) -> dict:
    alive = []
    for _ in range(count):
        alive.append(torch.empty(4))
        if len(alive) == 5000:
            alive.clear()
    return {"tensors": count}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps({"keys": keys, "one": one, "tensors": tensors}[sys.argv[1]](int(sys.argv[2]))))
