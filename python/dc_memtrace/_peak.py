"""Memory figures that are counted anyway, for a line in a log."""

from __future__ import annotations

import ctypes
import sys

from dc_memtrace import _table

_STATISTICS = {
    "allocated_bytes": "allocated_bytes.all.current",
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "reserved_bytes": "reserved_bytes.all.current",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
}


def peak() -> dict[str, int]:
    """Current and peak memory of this process in bytes: a flat dict, as expected by loggers like W&B's.

    It needs no recording, and costs microseconds. It imports and initialises nothing: the dict does not contain what the
    program has not used yet.

    "process/resident_bytes", "process/peak_resident_bytes": of the whole process, from the kernel; the peak since its start.
    "cuda:0/allocated_bytes", "cuda:0/peak_allocated_bytes", "cuda:0/reserved_bytes", "cuda:0/peak_reserved_bytes": for each
        GPU that the process has used, by torch's allocator, peaks since the process began or since
        torch.cuda.reset_peak_memory_stats().

    "cpu/allocated_bytes", "cpu/peak_allocated_bytes": while this process is recorded, as of the recorder's last
        update, usually a hundredth of a second ago; the peak since the recording began. Torch has no counter for the CPU, so
        both are missing otherwise. They are also missing if the memory from before the recording is unknown.
    """
    found = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            name, _, value = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                found["process/resident_bytes" if name == "VmRSS" else "process/peak_resident_bytes"] = int(value.split()[0]) * 1024
    table, memory = _table.table(), _table.CpuMemory()
    if table is not None and table.cpu_memory(ctypes.byref(memory), 0, 0) and memory.complete:
        found.update({"cpu/allocated_bytes": memory.allocated, "cpu/peak_allocated_bytes": memory.peak})
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        for device in range(cuda.device_count()):
            counted = cuda.memory_stats(device)
            if counted.get("allocated_bytes.all.peak", 0) > 0:
                found.update({f"cuda:{device}/{name}": counted[key] for name, key in _STATISTICS.items()})
    return found
