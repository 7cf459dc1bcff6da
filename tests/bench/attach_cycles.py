"""Attaches to a training again and again, beside an untouched twin, and detaches: equal losses and state, flat memory, threads,
descriptors and mappings (judged from 30 cycles on; the figures of each cycle go to FOLDER/figures.json). Two processes are
never equally fast, so their times of a step are paired before the first attach and after the last detach, and the change of
the ratio is what attaching has left behind. Exits with 1 if the state differs or something grows.

    attach_cycles.py TOOL FOLDER [--minutes M | --cycles N] [--pairs N] [--model gpt2] [--device cuda [--kernels]]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

from statistics_of_pairs import median_interval
from turns import Training

STEPS = 10
WARM_UP = 5
# Resident, as in tests/attach_test.py: what an allocator keeps for the next time.
MAY_GROW = {"threads": 0, "descriptors": 0, "mappings": 8, "resident KiB": 8192, "KiB of malloc in use": 64}
WINDOW = 10  # cycles


def figures(training: Training, steps: int) -> dict[str, int]:
    """The figures of the process after so many more steps."""
    in_use = training.ask(steps, "memory")
    pid = training.process.pid
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {
        "threads": int(re.search(r"Threads:\s*(\d+)", status)[1]),
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "mappings": pathlib.Path(f"/proc/{pid}/maps").read_text().count("\n"),
        "resident KiB": int(re.search(r"VmRSS:\s*(\d+)", status)[1]),
        "anonymous KiB": int(re.search(r"RssAnon:\s*(\d+)", status)[1]),
        "KiB of malloc in use": in_use["malloc_bytes"] // 1024,
        "blocks of Python in use": in_use["python_blocks"],
    }


def growth(after: list[dict[str, int]], name: str) -> int:
    """The growth from figures 11 to 20 to the last ten: what an allocator has free differs by MiB each time."""
    values = [figure[name] for figure in after]
    return round(statistics.median(values[-WINDOW:]) - statistics.median(values[WINDOW : 2 * WINDOW]))


def cycle(tool: str, training: Training, folder: pathlib.Path, flags: list[str]) -> float:
    """Attaches while the training goes on, and detaches. Returns the duration in seconds."""
    pid = training.process.pid
    shutil.rmtree(folder, ignore_errors=True)
    attach = subprocess.Popen([tool, "attach", str(pid), "-q", "-o", folder, *flags], stderr=subprocess.PIPE, text=True)
    while not list(folder.glob("*.dcmt")):
        if attach.poll() is not None:
            raise SystemExit(f"attach ended: {attach.stderr.read()}")
        training.turn(1)
    training.turn(STEPS)
    began = time.monotonic()
    detach = subprocess.run([tool, "detach", str(pid)], capture_output=True, text=True)
    took = time.monotonic() - began
    _, said = attach.communicate(timeout=120)
    if detach.returncode != 0 or attach.returncode != 0:
        raise SystemExit(f"detach: {detach.stderr} attach: {said}")
    return took


def pairs(attached: Training, twin: Training, count: int) -> list[float]:
    """The ratios of both processes' times of a step, after a warm-up."""
    ratios = []
    for number in range(WARM_UP + count):
        order = (attached, twin) if number % 2 == 0 else (twin, attached)
        seconds = {training: training.turn(STEPS) for training in order}
        ratios.append(seconds[attached] / seconds[twin])
    return ratios[WARM_UP:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--cycles", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=40, help="before the first attach, and after the last detach")
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kernels", action="store_true", help="at each attach: the steps after it have what CUPTI leaves behind")
    arguments = parser.parse_args()

    program = [sys.executable, pathlib.Path(__file__).with_name("training_step.py"), arguments.model, "--turns"]
    program += ["--device", arguments.device]
    attached, twin = Training(program), Training(program)
    before = pairs(attached, twin, arguments.pairs)
    arguments.folder.mkdir(exist_ok=True)
    until = time.monotonic() + arguments.minutes * 60
    detaches, after, beside = [], [], []
    while len(detaches) < arguments.cycles or time.monotonic() < until:
        # Readings of what was there before are the larger part of a recording, and seldom what differs.
        flags = ["--no-owners"] if len(detaches) % 4 else ["--detail", "full"]
        flags += ["--kernels"] if arguments.kernels else []
        detaches.append(cycle(arguments.tool, attached, arguments.folder / "trace", flags))
        after.append(figures(attached, 1))
        beside.append(figures(twin, attached.steps - twin.steps))
        (arguments.folder / "figures.json").write_text(json.dumps({"attached": after, "twin": beside}))
    left = pairs(attached, twin, arguments.pairs)
    state, other = attached.ask(1, "state"), twin.ask(1, "state")
    equal = attached.agrees(twin) and state["state"] == other["state"]
    attached.end()
    twin.end()
    grown, flat = None, None
    if len(after) >= 3 * WINDOW:
        # Less what a training grows by itself.
        grown = {name: growth(after, name) - growth(beside, name) for name in after[0]}
        flat = all(grown[name] <= most for name, most in MAY_GROW.items())
    print(json.dumps({
        "cycles": len(detaches), "steps": attached.steps, "equal": equal, "flat": flat, "grown": grown,
        "detach_s": {"median": sorted(detaches)[len(detaches) // 2], "most": max(detaches)},
        "step_ratio_before": median_interval(before), "step_ratio_after": median_interval(left),
        "step_ratio": median_interval([one / other for one, other in zip(left, before, strict=True)]),
    }))  # fmt: skip
    return 0 if equal and flat is not False else 1


if __name__ == "__main__":
    sys.exit(main())
