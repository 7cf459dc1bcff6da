"""Times training steps plain, recorded in `lifetimes`, recorded in `full` and under torch's profiler.

One round runs all four, each in a process of its own, and every other round runs them in reverse. A run's figure is the
median of its steps after the warm-up; a round's ratio is against the plain run of the same round. Prints one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys

from statistics_of_pairs import median_interval

PROGRAM = pathlib.Path(__file__).with_name("training_step.py")
PLAIN, PROFILER = "plain", "profiler"
MODES = (PLAIN, "lifetimes", "full", PROFILER)
STEPS = {"gpt2": 60, "mlp": 400}
WARM_UP = {"gpt2": 10, "mlp": 50}


def meta_of(folder: pathlib.Path) -> dict:
    (trace,) = folder.glob("*.dcmt")
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        values = dict(database.execute("SELECT key, value FROM meta"))
        values["lost"] = database.execute("SELECT coalesce(sum(count), 0) FROM loss").fetchone()[0]
    return values


def run_once(tool: pathlib.Path, model: str, mode: str, folder: pathlib.Path) -> dict:
    command = [sys.executable, PROGRAM, model, "--steps", str(STEPS[model]), "--warm-up", str(WARM_UP[model])]
    if mode == PROFILER:
        command.append("--profiler")
    recorded = mode not in (PLAIN, PROFILER)
    if recorded:
        shutil.rmtree(folder, ignore_errors=True)
        command = [tool, "run", "-o", folder, "--detail", mode, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{model}, {mode}: exit {done.returncode}\n{done.stderr}")
    output = json.loads(done.stdout.splitlines()[-1])
    steps = STEPS[model] + WARM_UP[model]
    result = {"step_s": statistics.median(output["seconds"]), "loss": output["loss"]}
    if mode == PROFILER:
        result["outside_cpu_s"] = output["stop_cpu_s"] / steps
    if recorded:
        meta = meta_of(folder)
        result["outside_cpu_s"] = meta["recorder_cpu_ns"] / 1e9 / steps
        result["records_per_step"] = meta["records"] / steps
        result["lost"] = meta["lost"]
    return result


def summarize(model: str, rounds: list[dict]) -> dict:
    losses = {run["loss"] for one in rounds for run in one.values()}
    summary = {"model": model, "rounds": len(rounds), "losses_equal": len(losses) == 1, "modes": {}}
    for mode in MODES:
        runs = [one[mode] for one in rounds]
        entry = {"step_s": statistics.median(run["step_s"] for run in runs)}
        entry["ratio"] = median_interval([one[mode]["step_s"] / one[PLAIN]["step_s"] for one in rounds])
        for field in ("outside_cpu_s", "records_per_step", "lost"):
            if field in runs[0]:
                entry[field] = statistics.median(run[field] for run in runs)
        summary["modes"][mode] = entry
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path, help="the built dc-memtrace")
    parser.add_argument("folder", type=pathlib.Path, help="for traces; they are replaced")
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error("--pairs: at least 1")

    results = []
    for model in STEPS:
        rounds = []
        for number in range(arguments.pairs):
            order = MODES if number % 2 == 0 else MODES[::-1]
            rounds.append({mode: run_once(arguments.tool, model, mode, arguments.folder / mode) for mode in order})
            print(f"{model}: round {number + 1} of {arguments.pairs}", file=sys.stderr, flush=True)
        results.append(summarize(model, rounds))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
