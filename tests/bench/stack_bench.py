"""Times single records inside a recorded Python process: with its Python stack and without, through the real provider.

Run it below `dc-memtrace run --detail full`; prints one JSON object. `probe` is the built libdcmt_record_probe.so.
Unless said otherwise the threads have released the GIL, as they have inside most of torch's operators.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import pathlib
import sys
import threading
import time

import numpy
import torch  # noqa: F401  the agent records processes that have torch

BATCH = 1000
PAUSE_S = 0.004  # after each pair of batches: the recorder keeps up, so that no record is lost
SPOOL_BYTES = 64 << 20
RECORD_BYTES = 48


def frames_above() -> int:
    """The caller's depth: 1 if it has no caller."""
    frame, count = sys._getframe(1), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


def at_depth(depth: int, call) -> None:
    """Calls `call` so that its frame is the depth-th."""
    if frames_above() + 1 < depth:
        at_depth(depth, call)
    else:
        call()


class Probe:
    def __init__(self, path: pathlib.Path):
        self._without_gil = ctypes.CDLL(str(path)).dcmt_probe_records
        library = ctypes.PyDLL(str(path))
        self._with_gil = library.dcmt_probe_records
        library.dcmt_probe_clock_cycles.restype = ctypes.c_double
        library.dcmt_probe_cycles_per_ns.restype = ctypes.c_double
        self._clock = library.dcmt_probe_clock_cycles()
        self._cycles_per_ns = library.dcmt_probe_cycles_per_ns()

    def time_both(self, each: numpy.ndarray, stack: bool, gil: bool) -> int:
        """Times len(each) records each, and as many together: returns the cycles of the latter."""
        records = self._with_gil if gil else self._without_gil
        total = ctypes.c_uint64()
        failed = records(int(stack), len(each), None, ctypes.byref(total))
        failed += records(int(stack), len(each), ctypes.c_void_p(each.ctypes.data), None)
        if failed:
            raise SystemExit("stack_bench.py: this process is not recorded, or its Python provider is off")
        return total.value

    def nanoseconds(self, each: numpy.ndarray, totals: list[int]) -> dict[str, float]:
        """`typical` is the mean of the median batch; the clock's own cost is subtracted from single readings."""
        p50, p99 = (max(0.0, float(cycles) - self._clock) for cycles in numpy.percentile(each, (50, 99)))
        typical = float(numpy.median(totals)) / BATCH
        return {f"{name}_ns": round(cycles / self._cycles_per_ns, 1)
                for name, cycles in (("typical", typical), ("p50", p50), ("p99", p99))}


def measure(probe: Probe, batches: int, *, frames: int = 30, threads: int = 1, stack: bool, gil: bool = False) -> dict:
    """Figures over all batches of all threads, each of which makes its records at `frames` Python frames."""
    each = numpy.zeros((threads, batches, BATCH), dtype=numpy.uint64)
    totals: list[int] = []
    depths: set[int] = set()

    def work(mine: numpy.ndarray) -> None:
        depths.add(frames_above())
        for number, batch in enumerate(mine):
            cycles = probe.time_both(batch, stack, gil)
            if number > 0:  # the first batch publishes the stack and what it names
                totals.append(cycles)
            time.sleep(PAUSE_S * threads)

    # work() stands one frame below what at_depth() calls, and calls the probe one frame deeper.
    running = [threading.Thread(target=lambda mine=mine: at_depth(frames - 2, lambda: work(mine))) for mine in each]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    (depth,) = depths
    return {"stack": stack, "gil": gil, "frames": depth + 1, "threads": threads, "records": each[:, 1:].size,
            **probe.nanoseconds(each[:, 1:], totals)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("probe", type=pathlib.Path)
    parser.add_argument("--batches", type=int, default=100, help=f"of {BATCH} records, per thread and measurement")
    arguments = parser.parse_args()
    probe = Probe(arguments.probe)
    batches = arguments.batches
    # Once around the spool: from then on no record meets a page of it for the first time.
    around = SPOOL_BYTES // RECORD_BYTES // (2 * BATCH) + 1
    result = {"first_round": measure(probe, around, stack=True)}
    result["measured"] = [measure(probe, batches, threads=threads, stack=stack, gil=gil)
                          for threads in (1, 4) for stack, gil in ((False, False), (True, False), (True, True))]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
