"""Compares what two builds of the tool cost a CPU step: a part has a process recorded by each, which take turns. Prints the
median of the parts' ratios with its interval, and the losses are to be equal.

Where a process lies in memory makes its steps faster or slower by more than two builds differ, so there are many parts. A
turn is compared with those of the base just before and after it; its first step, with other caches, is not counted.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys
import tempfile
import time

from statistics_of_pairs import median_interval
from turns import Training

PROGRAM = pathlib.Path(__file__).with_name("training_step.py")
PARTS_FOR_AN_INTERVAL = 6
TURNS, STEPS = 14, 6


def start(tool: pathlib.Path, folder: pathlib.Path, model: str, cpus: str) -> Training:
    program = [sys.executable, "-W", "ignore", PROGRAM, model, "--warm-up", "8", "--turns"]
    training = Training(["taskset", "-c", cpus, tool, "run", "--force", "-o", folder, "--detail", "lifetimes", "--", *program])
    training.turn(STEPS)
    return training


def turn(training: Training) -> float:
    return statistics.mean(training.ask(STEPS)["seconds"][1:])


def measure_part(tools: dict[str, pathlib.Path], folder: pathlib.Path, model: str, cpus: str) -> float:
    trainings = {name: start(tool, folder / name, model, cpus) for name, tool in tools.items()}
    before, ratios = turn(trainings["base"]), []
    for _ in range(TURNS):
        seconds = turn(trainings["tool"])
        after = turn(trainings["base"])
        ratios.append(2 * seconds / (before + after))
        before = after
    if not trainings["tool"].agrees(trainings["base"]):
        raise SystemExit("error: the losses differ")
    for training in trainings.values():
        training.end()
    return statistics.median(ratios)


def measure(tools: dict[str, pathlib.Path], arguments: argparse.Namespace, cpus: str) -> list[float]:
    end, parts = time.monotonic() + arguments.seconds, []
    with tempfile.TemporaryDirectory(prefix="dcmt_beside") as folder:
        while len(parts) < PARTS_FOR_AN_INTERVAL or time.monotonic() < end:
            parts.append(measure_part(tools, pathlib.Path(folder), arguments.model, cpus))
            tools = dict(reversed(tools.items()))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path, help="the dc-memtrace of an installation")
    parser.add_argument("base", type=pathlib.Path, help="that of an earlier commit")
    parser.add_argument("--model", default="gpt2", choices=("gpt2", "gpt2_wide", "mlp"))
    parser.add_argument("--seconds", type=float, default=270, help="after these no part begins but the first 6")
    parser.add_argument("--at-once", type=int, default=1, help="pairs that are measured side by side, each on CPUs of its own (1)")
    arguments = parser.parse_args()
    tools = {"tool": arguments.tool, "base": arguments.base}
    all_cpus = sorted(os.sched_getaffinity(0))
    width = len(all_cpus) // arguments.at_once  # neighbours, which may be threads of one core
    lanes = [",".join(map(str, all_cpus[lane * width : (lane + 1) * width])) for lane in range(arguments.at_once)]
    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        parts = [part for of_lane in pool.map(lambda cpus: measure(tools, arguments, cpus), lanes) for part in of_lane]
    ratio = median_interval(parts)
    median, low, high = (100 * (ratio[key] - 1) for key in ("median", "low", "high"))
    print(f"{arguments.model}: {median:+.1f} % [{low:+.1f}, {high:+.1f}], {len(parts)} parts")


if __name__ == "__main__":
    main()
