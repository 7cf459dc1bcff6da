"""Trains a small model and, beside it, does something with memory that is not torch's, once a step.

Usage: outside_torch.py KIND… [--drop] [--steps N]
With --drop, each step lets go of what it made: the healthy twin.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import tempfile
import threading
import time

import numpy
import torch

MIB = 1 << 20
rows: list = []  # arrays
mappings: list[mmap.mmap] = []
objects: list = []
batches: list[torch.Tensor] = []


def add_array(drop: bool) -> None:
    if drop:
        rows.clear()
    rows.append(numpy.ones(MIB // 8))


def add_mapping(drop: bool) -> None:
    if drop and mappings:
        mappings.pop().close()
    mapping = mmap.mmap(-1, MIB)
    mapping.write(b"x" * MIB)
    mappings.append(mapping)


def add_file(drop: bool) -> None:
    if drop and mappings:
        mappings.pop().close()
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * MIB)
        file.flush()
        mapping = mmap.mmap(file.fileno(), MIB)
    mapping.read()
    mappings.append(mapping)


libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def leak_in_c(drop: bool) -> None:
    """As an extension in C does that forgets to free: pieces of 32 KiB."""
    pieces = [libc.malloc(MIB // 32) for _ in range(32)]
    for piece in pieces:
        ctypes.memset(piece, 1, MIB // 32)
        if drop:
            libc.free(piece)


def add_objects(drop: bool) -> None:
    if drop:
        objects.clear()
    objects.append([{"step": i} for i in range(4000)])


waiting: list[tuple[threading.Thread, threading.Event]] = []


def wait_below(calls: int, gate: threading.Event) -> object:
    """Waits below so many calls of C, each with a part of the thread's stack."""
    return sorted([0], key=lambda _: wait_below(calls - 1, gate) or 0) if calls else gate.wait()


def add_thread(drop: bool) -> None:
    if drop and waiting:
        thread, gate = waiting.pop()
        gate.set()
        thread.join()
    gate = threading.Event()
    waiting.append((threading.Thread(target=wait_below, args=(180, gate), daemon=True), gate))
    waiting[-1][0].start()


filled: list = []  # one buffer of a fixed size


def fill_buffer(_: bool) -> None:
    """As a replay buffer does: all of it is reserved at once, and a part becomes resident with each step."""
    if not filled:
        filled.extend((numpy.zeros((256, MIB // 8)), iter(range(256))))
    filled[0][next(filled[1])] = 1


KINDS = {"numpy": add_array, "mapping": add_mapping, "file": add_file, "malloc": leak_in_c,
         "objects": add_objects, "threads": add_thread, "buffer": fill_buffer}


class Batches(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(MIB // 4)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="+", choices=[*KINDS, "workers"])
    parser.add_argument("--drop", action="store_true")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.01)
    parser.add_argument("--times", type=int, default=1, help="how often a step does it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    if "workers" in options.kinds:
        loaded = iter(torch.utils.data.DataLoader(Batches(), batch_size=1, num_workers=2))
    for _ in range(options.steps):
        for kind in options.kinds * options.times:
            if kind != "workers":
                KINDS[kind](options.drop)
                continue
            if options.drop:
                batches.clear()
            batches.append(next(loaded))
        loss = model(torch.randn(64, 256)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(options.pause)  # a step lasts a while, as a rule


if __name__ == "__main__":
    main()
