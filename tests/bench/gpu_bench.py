"""What recording costs a GPU training step, beside torch's own recorders. Prints one table; see docs/benchmarks.md.

Where a process happens to lie in memory makes its steps faster or slower by more than recording does. So a row is measured
in parts, each with processes of its own on the same two cores; the interval is that of the parts. What else goes on in the
machine matters as much, and changes within a second: a process makes a few turns in alternation with the plain one, a turn
is a few steps of which the first, with other caches than its own, is not counted, and it is compared with the plain ones
just before and after it. A part's ratio is the median of these. A second plain process is treated as the recorded ones are:
what it differs by is the method's own error.

A recorded process is compared with itself, too, its gate closed for every other step: what recording costs alone, without
the hooks' way to the gate, wherever the process lies. What begins in one step and ends in another is not followed then, so
a model is to keep nothing across steps but its parameters and the optimizer's states.

With --base, the plain process is recorded by another installation of the tool: what a change costs beside an earlier commit.
The two exchange their places in every second part: of two equal ones, the plain one was slower by 2 %.

On each GPU one part is measured, always on the same cores. Those of the next ones start meanwhile on the others, unless
the GPU itself is what a step waits for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

from statistics_of_pairs import median_interval
from turns import Training

PROGRAM = pathlib.Path(__file__).with_name("gpu_step.py")
PARTS_FOR_AN_INTERVAL = 6
DETAILS = ("lifetimes", "full")
CORES = 5  #: for the processes that are measured, so that two can be theirs alone (gpu_step.py)
TURNS = 4  #: of a process in alternation with the plain one, until another's
RIVALS = ("history_python", "history_all", "profiler")
MODES = ("twin", *DETAILS, *RIVALS)
STARTING_CORES = 2  #: for the processes of a part that start, at least
PROCESSES = 24  #: for each GPU: what the host's memory has room for


@dataclass(frozen=True)
class Row:
    model: str
    steps: int  #: of a turn
    gpu_bound: bool  #: what starts meanwhile would share the GPU with what is measured


ROWS = (Row("gpt", 3, False), Row("gpt_compiled", 3, False), Row("gpt_wide", 2, True), Row("gpt_wide_compiled", 2, True))


def gpus() -> dict[str, str]:
    """The GPUs that torch would use, by number or id, with their names."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    query = ["nvidia-smi", "--query-gpu=index,name", "--format=csv,noheader", *(["-i", visible] if visible else [])]
    answer = subprocess.run(query, capture_output=True, text=True) if shutil.which(query[0]) else None
    if answer is None or answer.returncode != 0 or not answer.stdout:
        raise SystemExit("error: there is no GPU here. Run this on a machine with one.")
    return dict(line.split(", ", 1) for line in answer.stdout.splitlines())


def threads_of(pid: int) -> list[int]:
    """The threads of the process and of its live descendants."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(int(task.name))
            for child in (task / "children").read_text().split():
                found += threads_of(int(child))
    return found


class Gpu:
    """A GPU with cores of its own. One part at a time is measured on it."""

    def __init__(self, name: str, cores: list[int]) -> None:
        self.name = name
        self.turn = threading.Lock()
        self.cores = cores

    def bring(self, training: Training) -> None:
        """Binds the program, its recorder and their threads to this GPU's cores."""
        for thread in threads_of(training.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, self.cores)


class Place:
    """The cores on which the processes of a part start, and the GPU on which the part will be measured."""

    def __init__(self, gpu: Gpu, cores: list[int]) -> None:
        self.gpu = gpu
        self.cores = ",".join(map(str, cores))
        self.environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpu.name}

    def start(self, arguments: argparse.Namespace, trace: pathlib.Path, model: str, mode: str, exchanged: bool) -> Training:
        """`exchanged`: the tool and the base have exchanged their places."""
        program = [sys.executable, PROGRAM, model]
        if mode in DETAILS or (mode == "plain" and arguments.base):
            tool = arguments.base if (mode == "plain") != exchanged else arguments.tool
            detail = mode if mode in DETAILS else arguments.modes[0]
            program = [tool, "run", "--force", "-o", trace, "--detail", detail, "--", *program]
        elif mode in RIVALS:
            program.append(mode)
        return Training(["taskset", "-c", self.cores, *program], env=self.environment)


def places_on(visible: dict[str, str], row: Row, processes: int) -> SimpleQueue[Place]:
    """For parts of so many processes."""
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // len(visible)
    if share < CORES:
        raise SystemExit(f"error: {len(cores)} cores for {len(visible)} GPUs. Name fewer in CUDA_VISIBLE_DEVICES.")
    places: SimpleQueue[Place] = SimpleQueue()
    for number, name in enumerate(visible):
        own = cores[number * share : (number + 1) * share]
        gpu = Gpu(name, own[:CORES])
        others = own[CORES:] or own
        count = 1 if row.gpu_bound else max(1, min((share - CORES) // STARTING_CORES, PROCESSES // processes))
        for place in range(count):
            places.put(Place(gpu, others[place * len(others) // count : (place + 1) * len(others) // count]))
    return places


def measure_part(trainings: dict[str, Training], steps: int, rounds: int, order: random.Random) -> dict:
    def turn(mode: str) -> float:
        return statistics.mean(trainings[mode].ask(steps)["seconds"][1:])

    to_itself: dict[str, list[float]] = {mode: [] for mode in trainings if mode in DETAILS}
    to_plain: dict[str, list[float]] = {mode: [] for mode in trainings if mode != "plain"}
    plain = []
    for _ in range(rounds):
        for mode in order.sample(list(to_plain), len(to_plain)):
            turn(mode)
            plain.append(turn("plain"))
            for _ in range(TURNS):
                seconds = turn(mode)
                plain.append(turn("plain"))
                to_plain[mode].append(2 * seconds / (plain[-2] + plain[-1]))
            if mode in DETAILS:
                answer = trainings[mode].ask(4 * steps, "mixed")
                to_itself[mode] += [a / b for a, b in zip(answer["seconds"], answer["closed"], strict=True)]
    return {
        "plain": statistics.median(plain),
        "losses_equal": all(training.agrees(trainings["plain"]) for training in trainings.values()),
        "to_plain": {mode: statistics.median(ratios) for mode, ratios in to_plain.items()},
        "to_itself": {mode: statistics.median(ratios) for mode, ratios in to_itself.items()},
    }


def fewest_parts(arguments: argparse.Namespace) -> int:
    return PARTS_FOR_AN_INTERVAL * (2 if arguments.base else 1)


def measure(places: SimpleQueue[Place], folder: pathlib.Path, row: Row, modes: list[str], arguments) -> dict:
    end = time.monotonic() + arguments.seconds

    def part(number: int) -> dict | None:
        if number >= fewest_parts(arguments) and time.monotonic() > end:
            return None
        place = places.get()
        exchanged = bool(arguments.base) and number % 2 == 1
        try:
            traces = {mode: folder / f"{row.model}_{mode}_{number}" for mode in modes}
            trainings = {mode: place.start(arguments, trace, row.model, mode, exchanged) for mode, trace in traces.items()}
            for training in trainings.values():
                training.turn(row.steps)
            with place.gpu.turn:
                for training in trainings.values():
                    place.gpu.bring(training)
                    training.turn(row.steps)
                measured = measure_part(trainings, row.steps, arguments.rounds, random.Random(number))
            for training in trainings.values():
                training.end()
            if exchanged:
                measured["to_plain"] = {mode: 1 / ratio for mode, ratio in measured["to_plain"].items()}
                measured["to_itself"] = {}
            return measured
        finally:
            places.put(place)

    with ThreadPoolExecutor(places.qsize()) as pool:
        parts = [one for one in pool.map(part, range(arguments.parts)) if one is not None]
    return {
        "model": row.model,
        "parts": parts,
        "plain_ms": 1e3 * statistics.median(one["plain"] for one in parts),
        "losses_equal": all(one["losses_equal"] for one in parts),
        "to_plain": {mode: median_interval([one["to_plain"][mode] for one in parts]) for mode in modes if mode != "plain"},
        "to_itself": {
            mode: median_interval([one["to_itself"][mode] for one in parts if one["to_itself"]])
            for mode in modes
            if mode in DETAILS
        },
    }


def percent(ratio: dict) -> str:
    median, low, high = (100 * (ratio[key] - 1) for key in ("median", "low", "high"))
    return f"{median:+6.1f} % [{low:+.1f}, {high:+.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("--parts", type=int, default=12, help="processes of each mode (12); 6 or more for an interval")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of a row: after these no part begins but the first 6")
    parser.add_argument("--rounds", type=int, default=4, help="of turns in a part (4)")
    models = [row.model for row in ROWS]
    parser.add_argument("--models", nargs="+", default=models, choices=models, help="(all)")
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES, help="beside plain (all)")
    parser.add_argument("--base", type=pathlib.Path, help="a dc-memtrace of an earlier commit, which records instead of nothing")
    parser.add_argument("--json", type=pathlib.Path, help="the figures in full go here")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dcmt_gpu_bench"))
    if arguments.parts < fewest_parts(arguments):
        parser.error(f"fewer than {fewest_parts(arguments)} parts give no interval")
    if arguments.base and (len(arguments.modes) != 1 or arguments.modes[0] not in DETAILS):
        parser.error("--base needs one of --modes lifetimes and --modes full")
    visible = gpus()
    modes = ["plain", *dict.fromkeys(arguments.modes)]
    print(f"{', '.join(visible.values())}; parts of {arguments.rounds} rounds", flush=True)
    results = []
    for row in ROWS:
        if row.model not in arguments.models:
            continue
        result = measure(places_on(visible, row, len(modes)), folder, row, modes, arguments)
        results.append(result)
        losses = "equal" if result["losses_equal"] else "DIFFER"
        beside = "recorded by the base" if arguments.base else "plain"
        print(f"{row.model}: {result['plain_ms']:.1f} ms {beside}, {len(result['parts'])} parts, losses {losses}")
        for mode, ratio in result["to_plain"].items():
            alone = f"   recording alone {percent(result['to_itself'][mode])}" if mode in DETAILS else ""
            print(f"  {mode:15} {percent(ratio)}{alone}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
