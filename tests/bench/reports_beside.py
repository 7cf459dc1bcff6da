"""Compares what the report of a trace costs with two builds of the tool, which run in turns. For time, CPU time and peak
memory, the median of the pairs' ratios is printed, with its interval.

Usage: reports_beside.py TOOL BASE TRACE [PAIRS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from statistics_of_pairs import median_interval

PAIRS = 10
WHAT = ("seconds", "CPU seconds", "MiB")


def report(tool: str, trace: str) -> tuple[float, float, float]:
    start = time.perf_counter()
    process = subprocess.Popen([tool, "report", trace], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"error: {tool} report {trace}: status {status}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    if len(sys.argv) not in (4, 5):
        raise SystemExit(__doc__)
    tool, base, trace = sys.argv[1:4]
    pairs = int(sys.argv[4]) if len(sys.argv) == 5 else PAIRS
    for each in (tool, base):  # the file is in memory then
        report(each, trace)
    figures: dict[str, list[tuple[float, float, float]]] = {tool: [], base: []}
    for pair in range(pairs):
        for each in (tool, base) if pair % 2 else (base, tool):
            figures[each].append(report(each, trace))
    for at, what in enumerate(WHAT):
        now, before = ([each[at] for each in figures[name]] for name in (tool, base))
        ratio = median_interval([a / b for a, b in zip(now, before, strict=True)])
        medians = f"{statistics.median(now):.3f} {what}, {statistics.median(before):.3f} before"
        print(f"{medians}: {ratio['median']:.4f} [{ratio['low']:.4f}, {ratio['high']:.4f}], {pairs} pairs")


if __name__ == "__main__":
    main()
