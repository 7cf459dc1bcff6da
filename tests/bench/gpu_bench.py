"""What recording costs a GPU training step, beside torch's own recorders. Prints one table; see docs/benchmarks.md.

All processes of a row share the GPU and take turns, so that each round compares what ran within seconds.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from statistics_of_pairs import median_interval
from turns import Training

PROGRAM = pathlib.Path(__file__).with_name("gpu_step.py")
PROCESSES = 4  # of a mode, one after another
RIVALS = ("history_python", "history_all", "profiler")
#: model, steps of a turn, whether torch's recorders run beside
ROWS = (("gpt", 5, True), ("gpt_compiled", 5, True), ("gpt_wide", 2, False), ("gpt_wide_compiled", 2, False))


def start(tool: pathlib.Path, folder: pathlib.Path, model: str, mode: str) -> Training:
    if mode not in ("lifetimes", "full"):
        return Training([sys.executable, PROGRAM, model, mode])
    prefix = [tool, "run", "--force", "-o", folder / f"{model}_{mode}", "--detail", mode, "--"]
    return Training([*prefix, sys.executable, PROGRAM, model])


def measure(tool: pathlib.Path, folder: pathlib.Path, model: str, steps: int, modes: list[str], rounds: int) -> dict:
    """In parts, each with processes of its own: where a process lies in memory makes it fast or slow, too."""
    ratios: dict[str, list[float]] = {mode: [] for mode in modes[1:]}
    plain, losses = [], []
    for _ in range(PROCESSES):
        trainings = {mode: start(tool, folder, model, mode) for mode in modes}
        for training in trainings.values():
            training.turn(2)
        for turn in range(rounds // PROCESSES):
            order = modes if turn % 2 == 0 else modes[::-1]
            seconds = {mode: trainings[mode].turn(steps) for mode in order}
            plain.append(seconds["plain"])
            for mode in modes[1:]:
                ratios[mode].append(seconds[mode] / seconds["plain"])
        for training in trainings.values():
            training.end()
        losses.append({training.loss for training in trainings.values()})
    return {
        "model": model,
        "plain_ms": 1e3 * statistics.median(plain),
        "losses_equal": all(len(each) == 1 for each in losses),
        "ratios": {mode: median_interval(values) for mode, values in ratios.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=40, help="of turns")
    parser.add_argument("--models", nargs="*", default=[row[0] for row in ROWS])
    parser.add_argument("--rivals", nargs="*", default=RIVALS, choices=RIVALS)
    parser.add_argument("--json", type=pathlib.Path, help="the figures in full go here")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dcmt_gpu_bench"))
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
    print(gpu.stdout.splitlines()[0] if gpu.stdout else "no GPU")
    results = []
    for model, steps, with_rivals in ROWS:
        if model not in arguments.models:
            continue
        modes = ["plain", "lifetimes", "full", *(arguments.rivals if with_rivals else ())]
        result = measure(arguments.tool, folder, model, steps, modes, arguments.rounds)
        results.append(result)
        print(f"{model}: {result['plain_ms']:.1f} ms plain, losses {'equal' if result['losses_equal'] else 'DIFFER'}")
        for mode, ratio in result["ratios"].items():
            median, low, high = (100 * (ratio[key] - 1) for key in ("median", "low", "high"))
            print(f"  {mode:15} {median:+6.1f} % [{low:+.1f}, {high:+.1f}]", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
