"""Trains GPT-2 for hours, recorded at the default settings, and beside it without the tool: do they stay equal?

Two processes take turns of a few seconds, so that both see the same machine: one turn recorded, one plain, every other
pair in reverse. Checked, with exit 1 if it does not hold: the losses are bit-equal, nothing is lost, the trace stays
within its bound, the memory of the recorder and what the agent adds to the job do not grow. The ratio of the step times
is printed with its interval. The last line is a summary.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import sqlite3
import statistics
import sys
import time

from statistics_of_pairs import median_interval
from turns import Training

PROGRAM = pathlib.Path(__file__).with_name("training_step.py")
TURN_SECONDS = 4
WARM_UP = 30
BUDGET = 1.02
MOST_GROWTH_KIB = 8 * 1024
# SQLite's page cache (trace/sql: 32 MiB) on top of the 8 MiB that the recorder begins with. How soon it is full depends
# on what the job writes; until then its filling cannot be distinguished from a leak, so a short soak sees only leaks
# beyond it.
FULL_CACHE_KIB = 40 * 1024


def private_kib(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1])


def child_of(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path, help="the built dc-memtrace")
    parser.add_argument("folder", type=pathlib.Path, help="for the trace; it is replaced")
    parser.add_argument("--model", default="gpt2_wide", help="of training_step.py")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--max-disk-mib", type=int, default=5 * 1024)
    arguments = parser.parse_args()

    shutil.rmtree(arguments.folder, ignore_errors=True)
    command = [sys.executable, PROGRAM, arguments.model, "--turns"]
    bound = ["--max-disk", f"{arguments.max_disk_mib}MiB"]
    recorded = Training([arguments.tool, "run", "-o", arguments.folder, *bound, "--", *command])
    plain = Training(command)
    warm = max(training.turn(WARM_UP) for training in (recorded, plain))
    steps_of_turn = max(5, round(TURN_SECONDS / warm))
    job = child_of(recorded.process.pid)

    ratios, recorder_kib, added_kib, disk = [], [], [], 0
    end = time.monotonic() + arguments.minutes * 60
    while time.monotonic() < end:
        order = (recorded, plain) if len(ratios) % 2 == 0 else (plain, recorded)
        seconds = {training: training.turn(steps_of_turn) for training in order}
        ratios.append(seconds[recorded] / seconds[plain])
        recorder_kib.append(private_kib(recorded.process.pid))
        added_kib.append(private_kib(job) - private_kib(plain.process.pid))
        disk = max(disk, sum(file.stat().st_size for file in arguments.folder.glob("*.dcmt")))
        if len(ratios) % 20 == 0:
            print(f"{len(ratios)} pairs, median ratio {statistics.median(ratios):.4f}", file=sys.stderr, flush=True)
    recorded.end()
    plain.end()

    (trace,) = arguments.folder.glob("*.dcmt")
    disk = max(disk, trace.stat().st_size)
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        steps, kept = database.execute(
            "SELECT sum(steps), sum(CASE WHEN kept IS NOT NULL THEN steps END) FROM interval"
        ).fetchone()
        lost = database.execute("SELECT coalesce(sum(count), 0) FROM loss").fetchone()[0]
    quarter = len(ratios) // 4
    growth = [
        recorder_kib[-1] - max(recorder_kib[quarter], FULL_CACHE_KIB),
        # What the allocator of each process keeps for later differs by 20 MiB from turn to turn.
        round(statistics.median(added_kib[-quarter - 1 :]) - statistics.median(added_kib[: quarter + 1])),
    ]
    interval = median_interval(ratios)
    failures = [
        what
        for what, holds in {
            "losses differ": recorded.agrees(plain),
            "records were lost": lost == 0,
            "steps are missing": steps == WARM_UP + steps_of_turn * len(ratios),
            "the trace is larger than its bound": disk <= arguments.max_disk_mib * 1024 * 1024,
            "the recorder's memory grows": growth[0] <= MOST_GROWTH_KIB,
            "the job's memory grows more than the plain one's": growth[1] <= MOST_GROWTH_KIB,
        }.items()
        if not holds
    ]
    print(
        f"{arguments.minutes:g} minutes, {len(ratios)} pairs: step time ratio {interval['median']:.4f}"
        f" [{interval['low']:.4f}, {interval['high']:.4f}] {'pass' if interval['high'] <= BUDGET else 'MISS'}"
        f" (budget {BUDGET}), {steps} steps, {kept} kept, {disk >> 20} MiB, recorder {recorder_kib[-1] >> 10} MiB"
        f" ({growth[0]:+d} KiB since the first quarter or a full cache), job"
        f" {round(statistics.median(added_kib)) >> 10} MiB above plain ({growth[1]:+d} KiB from the first quarter to the"
        f" last, medians)" + "".join(f", {failure}" for failure in failures)
    )
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
