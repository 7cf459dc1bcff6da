"""Memory of several CUDA streams, as programs get it wrong and, with --fixed, right.

waits: a buffer is dropped while a side stream still reads it, so the next one is allocated beside it. Fixed: the main
stream waits for the side stream before the buffer is dropped.
pools: one buffer after the other, each on a stream of its own. Fixed: all on one stream.

One JSON line: what torch's allocator counts when the last buffer has been allocated, and when things happened.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

BYTES = 256 * 1024 * 1024
STREAMS = 8
CYCLES = 1_000_000_000  # half a second of the side stream's time
COUNTS = ("allocated_bytes.all.current", "allocated_bytes.all.peak", "active_bytes.all.current",
          "active_bytes.all.peak", "reserved_bytes.all.current", "reserved_bytes.all.peak")


def counts() -> dict[str, int]:
    stats = torch.cuda.memory_stats()
    return {name: stats[name] for name in COUNTS}


def buffer() -> torch.Tensor:
    return torch.empty(BYTES, dtype=torch.uint8, device="cuda")


def waits(fixed: bool) -> dict:
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    gathered = buffer()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        used = gathered.mul(1)
        torch.cuda._sleep(CYCLES)  # the allocator waits for all that the stream has been given
    if fixed:
        main.wait_stream(side)
    else:
        gathered.record_stream(side)
    times = {"before_free": time.monotonic_ns()}
    del gathered
    times["after_free"] = time.monotonic_ns()
    following = buffer()
    counted = counts()
    torch.cuda.synchronize()
    times["before_done"] = time.monotonic_ns()
    last = torch.empty(1, device="cuda")  # at every allocation the allocator checks whether streams have finished
    times["after_done"] = time.monotonic_ns()
    del used, following, last
    return {"counts": counted, "times": times}


def pools(fixed: bool) -> dict:
    streams = [torch.cuda.Stream() for _ in range(1 if fixed else STREAMS)]
    for i in range(STREAMS):
        with torch.cuda.stream(streams[i % len(streams)]):
            spiky = buffer()
        del spiky
    return {"counts": counts()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["waits", "pools"])
    parser.add_argument("--fixed", action="store_true")
    arguments = parser.parse_args()
    kept = torch.ones(1, device="cuda")  # the allocator is followed from the first block on
    printed = {"waits": waits, "pools": pools}[arguments.case](arguments.fixed)
    printed["final"] = counts()
    dc_memtrace.step()
    del kept
    print(json.dumps(printed), flush=True)


if __name__ == "__main__":
    main()
