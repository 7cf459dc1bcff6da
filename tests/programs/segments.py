"""Reserves and gives back memory of a GPU, and prints at each mark what torch itself says is reserved: for each segment its
address, its bytes, whether it is the default stream's, and whether it is expandable."""

from __future__ import annotations

import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

MIB = 1 << 20
at_marks: dict[str, list] = {}


def mark(name: str) -> None:
    at_marks[name] = [
        [each["address"], each["total_size"], each["stream"] == 0, each["is_expandable"]]
        for each in torch.cuda.memory_snapshot()
    ]
    dc_memtrace.mark(name)


def block(mib: float) -> torch.Tensor:
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def main() -> None:
    first = block(0.25)
    mark("the first")
    large = [block(mib) for mib in (3, 50, 100, 7)]
    small = [block(0.1) for _ in range(50)]
    mark("more")
    del large[1]
    torch.cuda.empty_cache()
    mark("one was given back")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        on_side = [block(60), block(0.1)]
    mark("a second stream")
    kept = [block(40) for _ in range(6)]
    del kept[1::2], large, small
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    mark("gaps")
    again = [block(25) for _ in range(5)]
    mark("again")
    del first, on_side, kept, again
    torch.cuda.empty_cache()
    mark("nothing")
    print(json.dumps({"at_marks": at_marks, "reserved": torch.cuda.memory_reserved()}), flush=True)


if __name__ == "__main__":
    main()
