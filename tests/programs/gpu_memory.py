"""Uses a GPU's memory beside torch's allocator, and reads all the time what CUDA says is in use.

Prints one line of JSON: `readings`, [time in ns, bytes in use], and `steps`, what torch had reserved in each step, and from
when to when.
"""

from __future__ import annotations

import ctypes
import json
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

STEPS, BESIDE, SECONDS = 8, 256 << 20, 0.4


def used() -> int:
    free, total = torch.cuda.mem_get_info()
    return total - free


def main() -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    beside = ctypes.c_uint64()
    kept = torch.ones(32 << 20, device="cuda")
    readings, steps = [], []
    for step in range(STEPS):
        if step == STEPS // 2:
            assert driver.cuMemAlloc_v2(ctypes.byref(beside), ctypes.c_size_t(BESIDE)) == 0
        kept.mul_(2)
        torch.cuda.synchronize()
        begin = time.monotonic_ns()
        while time.monotonic_ns() < begin + SECONDS * 1e9:
            readings.append([time.monotonic_ns(), used()])
            time.sleep(0.002)
        steps.append([begin, time.monotonic_ns(), torch.cuda.memory_reserved()])
        dc_memtrace.step()
    print(json.dumps({"readings": readings, "steps": steps, "beside": BESIDE}))


main()
