"""Programs whose reserved memory on a GPU is fragmented, and programs whose is not. Prints the highest reserved bytes.

usage: cuda_fragmented.py KIND [--changed]

--changed makes the change of the program that a report proposes for KIND, where that is no setting.
"""

from __future__ import annotations

import contextlib
import json
import sys

import torch

MIB = 1 << 20
CHANGED = "--changed" in sys.argv


def large(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def small(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def longer() -> None:
    for at in range(20):
        large(100 + 15 * at)


def left() -> None:
    kept = []
    for _ in range(6):
        large(500)
        kept.append(small(4))


def between() -> None:
    """Each large segment has a small block that stays."""
    pool = torch.cuda.MemPool() if CHANGED else None
    kept, rest = [], []
    blocks = [large(60) for _ in range(40)]
    while blocks:
        del blocks[-1]
        with torch.cuda.use_mem_pool(pool) if pool else contextlib.nullcontext():
            kept.append(small(4))
        rest.append(large(56))
    rest.clear()
    blocks = [large(60) for _ in range(40)]


def alternates() -> None:
    streams = [torch.cuda.current_stream()] + [torch.cuda.Stream() for _ in range(7)]
    for stream in streams:
        with torch.cuda.stream(streams[0] if CHANGED else stream):
            large(256)


def shorter() -> None:
    for at in range(20):
        large(400 - 15 * at)


def ring() -> None:
    blocks = []
    for _ in range(40):
        blocks.append(large(100))
        del blocks[:-5]


def grows() -> None:
    blocks = [large(30) for _ in range(60)]
    del blocks


def steps() -> None:
    state = [large(200) for _ in range(4)]
    for _ in range(10):
        first, second = large(300), large(150)
        del first, second
    del state


if __name__ == "__main__":
    {each.__name__: each for each in (longer, left, between, alternates, shorter, ring, grows, steps)}[sys.argv[1]]()
    stats = torch.cuda.memory_stats()
    print(json.dumps({"reserved": stats["reserved_bytes.all.peak"], "allocated": stats["allocated_bytes.all.peak"]}))
