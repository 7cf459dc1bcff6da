"""Figures that are counted anyway, for a line in a log."""

from __future__ import annotations

import sys

_STATISTICS = {
    "allocated_bytes": "allocated_bytes.all.current",
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "reserved_bytes": "reserved_bytes.all.current",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
}


def peak() -> dict[str, int]:
    """Memory of this process, now and at its highest, in bytes: a flat dict, as loggers like W&B's want it.

    Nothing is recorded for it, and it costs microseconds. Nothing is imported or initialised either: what a program has
    not used yet is not in the dict.

    "process/resident_bytes", "process/peak_resident_bytes": of the whole process, by the kernel, the peak since it began.
    "cuda:0/allocated_bytes", "cuda:0/peak_allocated_bytes", "cuda:0/reserved_bytes", "cuda:0/peak_reserved_bytes": for each
        GPU that the process has used, by torch's allocator, peaks since the process began or since
        torch.cuda.reset_peak_memory_stats().

    Torch has no counter for the CPU: `record` gives the peak of a block there (`record.peak_bytes`).
    """
    found = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                found["process/resident_bytes" if name == "VmRSS" else "process/peak_resident_bytes"] = int(value.split()[0]) * 1024
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        for device in range(cuda.device_count()):
            counted = cuda.memory_stats(device)
            if counted.get("allocated_bytes.all.peak", 0) > 0:
                found.update({f"cuda:{device}/{name}": counted[key] for name, key in _STATISTICS.items()})
    return found
