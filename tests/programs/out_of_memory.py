"""Releases a gathered parameter that a local still holds, then asks for more memory than there is.

With --catch the program catches the error, drops the local, and goes on; it prints one JSON line. On a GPU it may use
a small fraction of the device, so that memory runs out soon; on the CPU it asks for more than any machine has.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

MIB = 1024 * 1024
HELD = 512 * MIB  # bytes of the gathered parameter on a GPU
LIMIT = 1024 * MIB  # bytes of a GPU that the program may use
PIECE = 64 * MIB
IMPOSSIBLE = 1 << 47


def gather(device: str) -> torch.Tensor:
    return torch.ones(HELD if device == "cuda" else MIB, dtype=torch.uint8, device=device)


def fill(device: str) -> list[torch.Tensor]:
    """Allocates until memory runs out."""
    pieces = []
    if device == "cpu":
        return [torch.empty(IMPOSSIBLE, dtype=torch.uint8)]
    while True:
        pieces.append(torch.empty(PIECE, dtype=torch.uint8, device=device))


def caught(device: str) -> str:
    """The error's text; its traceback, and with it the pieces, is not kept."""
    try:
        fill(device)
    except RuntimeError as error:  # torch.OutOfMemoryError is one
        return str(error).splitlines()[0]
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device", choices=["cpu", "cuda"])
    parser.add_argument("--catch", action="store_true")
    parser.add_argument("--drop", action="store_true", help="drop the local before memory is asked for")
    parser.add_argument("--pass-on", action="store_true", help="another local holds it by then")
    parser.add_argument("--times", type=int, default=1, help="errors that are caught")
    arguments = parser.parse_args()
    if arguments.device == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(LIMIT / total)

    kept = gather(arguments.device)
    dc_memtrace.gather(7, kept)
    dc_memtrace.release(7)  # what should free it only says so
    if arguments.drop:
        del kept
    torch.zeros(1).add_(1)  # the release is judged at the next operator
    if arguments.pass_on:
        later = kept
        del kept
    if not arguments.catch:
        fill(arguments.device)
    errors = [caught(arguments.device) for _ in range(arguments.times)]
    kept = later = None
    after = torch.ones(PIECE, dtype=torch.uint8, device=arguments.device)
    dc_memtrace.step()
    print(json.dumps({"errors": errors, "after": int(after.sum().item())}), flush=True)


if __name__ == "__main__":
    main()
