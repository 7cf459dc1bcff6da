"""Allocates small blocks of a device in a known pattern, and prints how many bytes are alive at each mark, and the most
that ever were between the marks `begin` and `end`, by its own count. Between marks the most is reached twice by a small block
alone: before a large one ends, and with many that are gone at the next mark. With --gather a small parameter is gathered
and ends without a release."""

from __future__ import annotations

import argparse
import json
import threading

import torch

import dc_memtrace

SMALL, LARGE = 1024, 1 << 20
device = "cpu"
alive = peak = 0
at_marks: dict[str, int] = {}


def block_of(size: int) -> int:
    """Torch's CUDA allocator hands out whole units of 512 bytes."""
    return size if device == "cpu" else (size + 511) // 512 * 512


def allocate(size: int) -> torch.Tensor:
    global alive, peak
    alive += block_of(size)
    peak = max(peak, alive)
    return torch.empty(size, dtype=torch.uint8, device=device)


def give(*tensors: torch.Tensor) -> None:
    """Counts the tensors as freed. The caller must keep no name of them."""
    global alive
    alive -= sum(block_of(tensor.numel()) for tensor in tensors)


def mark(name: str) -> None:
    dc_memtrace.mark(name)
    at_marks[name] = alive


def count() -> None:
    mark("begin")
    kept = [allocate(SMALL) for _ in range(300)]
    mark("300 small")
    large = allocate(LARGE)
    more = [allocate(SMALL) for _ in range(100)]
    give(*more)
    del more
    mark("the most are gone")
    give(large)
    del large
    many = [allocate(48_000) for _ in range(400)]
    give(*many)
    del many
    mark("as before")
    give(*kept)
    del kept
    mark("end")


def on_threads() -> None:
    """Small blocks of many threads that end as they began."""

    def work() -> None:
        for size in range(1, 400):
            torch.empty(size * 16, dtype=torch.uint8, device=device)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    mark("threads are gone")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gather", action="store_true")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    global device
    device = arguments.device
    torch.empty(1, dtype=torch.uint8, device=device)
    count()
    threading.Thread(target=lambda: None).start()
    on_threads()
    if arguments.gather:
        weight = allocate(SMALL)
        dc_memtrace.gather(7, weight)
        mark("gathered")
        give(weight)
        del weight
        mark("its end")
    print(json.dumps({"peak": peak, "at_marks": at_marks}))


if __name__ == "__main__":
    main()
