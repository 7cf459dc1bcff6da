"""Runs out of the CPU's memory in one of many ways, and says what was alive: one JSON line, before memory runs out.

The line has "names": variables, each with the bytes of the storages to which it leads, and "alive", their sum. A limit of the
process's address space (RLIMIT_AS) stands for a machine without memory; with --no-limit it is set by the caller. Blocks are not
written to, so the machine's own memory is not used.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import resource
import signal
import sys
import threading

import torch

MIB = 1 << 20
PIECE = 32 * MIB
LEFT = 640 * MIB  # address space that the program may still take
MODULE_CACHE: list[torch.Tensor] = []


def piece(mib: int = 32) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8)


def floats(mib: int = 32, **options) -> torch.Tensor:
    return torch.empty(mib * MIB // 4, **options)


def limit() -> None:
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + LEFT, used + LEFT))


def bytes_of(tensors) -> int:
    return sum({each.data_ptr(): each.untyped_storage().nbytes() for each in tensors}.values())


def say(**names) -> None:
    counted = {name: bytes_of(tensors) for name, tensors in names.items()}
    print(json.dumps({"names": counted, "alive": sum(counted.values())}), flush=True)


def too_much() -> torch.Tensor:
    return torch.empty(LEFT, dtype=torch.uint8)


def fill() -> None:
    kept = [piece() for _ in range(5)]
    say(kept=kept)
    kept.append(too_much())


def fill_all() -> None:
    """Until the caller's limit."""
    kept = []
    while True:
        kept.append(piece(256))
        say(kept=kept)


def functions() -> None:
    outer = piece(96)

    def inner() -> None:
        rows = {"a": piece(), "b": piece()}
        say(outer=[outer], rows=rows.values())
        rows["c"] = too_much()

    inner()


def thread() -> None:
    def work() -> None:
        mine = [piece() for _ in range(4)]
        say(mine=mine)
        mine.append(too_much())

    failed = []
    threading.excepthook = lambda arguments: failed.append(arguments.exc_type)
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    sys.exit(7 if failed == [RuntimeError] else 0)


class Greedy(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient + too_much().sum()


def backward() -> None:
    weight = floats(32, requires_grad=True)
    value = weight
    saved = []
    for _ in range(4):
        value = torch.sigmoid(value)
        saved.append(value.detach())
    loss = Greedy.apply(value).sum()
    say(weight=[weight], loss=saved)
    del value, saved
    loss.backward()


def step() -> None:
    model = [torch.nn.Parameter(floats(32)) for _ in range(3)]
    for parameter in model:
        parameter.grad = torch.empty_like(parameter)
    optimizer = torch.optim.Adam(model, foreach=False)
    say(model=[*model, *(parameter.grad for parameter in model)])
    global LEFT
    LEFT = 240 * MIB  # seven pieces, also if something of at most 16 MiB goes meanwhile
    limit()
    optimizer.step()


def load() -> None:
    path = pathlib.Path(os.environ["OOM_FOLDER"]) / "weights.pt"
    torch.save([torch.zeros(8 * MIB, dtype=torch.uint8) for _ in range(20)], path)
    model = [piece() for _ in range(3)]
    say(model=model)
    global LEFT
    LEFT = 96 * MIB
    limit()
    model.append(torch.load(path))


def checkpoint() -> None:
    model = {f"layer{number}": piece() for number in range(12)}
    say(model=model.values())
    global LEFT
    LEFT = 256 * MIB
    limit()
    copies = {}
    for name, value in model.items():
        copies[name] = value.clone()


def module() -> None:
    MODULE_CACHE.extend(piece() for _ in range(4))
    say(MODULE_CACHE=MODULE_CACHE)
    too_much()


def generator() -> None:
    def batches():
        window = [piece() for _ in range(4)]
        say(window=window)
        yield len(window)
        yield too_much()

    for _ in batches():
        pass


def attribute() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.history = [piece() for _ in range(4)]

    trainer = Trainer()
    say(history=trainer.history)
    too_much()


def cycle() -> None:
    class Node:
        pass

    gc.disable()
    node = Node()
    node.me = node
    node.buffer = piece(64)
    kept = [piece(64)]
    say(kept=kept)
    del node
    too_much()


def one_try(size: int, base: list[torch.Tensor]) -> int:
    batch = []
    for _ in range(size):
        batch.append(piece())
        say(base=base, batch=batch)
    return len(batch)


def retry() -> None:
    base = [piece(64)]
    say(base=base)
    size = 64
    while True:
        try:
            print(json.dumps({"size": one_try(size, base)}), flush=True)
            return
        except RuntimeError:
            size //= 2


def last() -> None:
    base = [piece(64)]
    say(base=base)
    for _ in range(4):
        try:
            too_much()
        except RuntimeError:
            base.append(piece(1))
    say(base=base)
    too_much()


def killed() -> None:
    kept = [piece() for _ in range(5)]
    say(kept=kept)
    try:
        too_much()
    except RuntimeError:
        os.kill(os.getpid(), signal.SIGKILL)


def child() -> None:
    import subprocess

    done = subprocess.run([sys.executable, __file__, "fill"])
    sys.exit(done.returncode)


WAYS = (fill, fill_all, functions, thread, backward, step, load, checkpoint, module, generator, attribute, cycle, retry, last, killed, child)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=[way.__name__ for way in WAYS])
    parser.add_argument("--no-limit", action="store_true")
    arguments = parser.parse_args()
    torch.ones(1)
    if not arguments.no_limit and arguments.way not in ("step", "load", "checkpoint", "child"):
        limit()
    globals()[arguments.way]()


if __name__ == "__main__":
    main()
