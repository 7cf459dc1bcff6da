"""A GPU training loop that times its own steps as often as it is asked to: see turns.py."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import random
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))

from cuda_models import MODELS  # noqa: E402


def start_recording(mode: str) -> None:
    """One of torch's own ways to record memory."""
    if mode.startswith("history_"):
        torch.cuda.memory._record_memory_history(stacks=mode.removeprefix("history_"), max_entries=100_000)
    elif mode == "profiler":
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        torch.profiler.profile(activities=activities, profile_memory=True, acc_events=True).start()


@contextlib.contextmanager
def gate_closed():
    """The tool's hooks see that nothing is to be recorded and go on at once: what is left of its cost is that, and where
    the process lies in memory. What happens meanwhile is missing in the trace."""
    opened, closed = 1, 2
    gate = ctypes.c_uint32.in_dll(ctypes.CDLL(None), "_ZN4dcmt5agent5g_hotE")
    assert gate.value == opened
    gate.value = closed
    try:
        yield
    finally:
        gate.value = opened


def pairs(steps: int) -> list[bool]:
    """Whether the gate is closed, for each of an even number of steps: it is closed in one of every two."""
    return [closed for _ in range(steps // 2) for closed in random.sample([False, True], 2)]


def stay_on_two_cores() -> None:
    """Binds the process to two cores, the same ones for all processes of the comparison: which cores a process gets by
    chance can matter more than recording. Call it after the program has been moved to where it will be measured."""
    cores = sorted(os.sched_getaffinity(0))[2:6:2]
    for thread in os.listdir("/proc/self/task") if len(cores) == 2 else ():
        os.sched_setaffinity(int(thread), cores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("mode", nargs="?", default="plain")
    arguments = parser.parse_args()
    if "wide" in arguments.model:  # its attention adds up in any order otherwise; the small model's does not
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    step = MODELS[arguments.model]()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    start_recording(arguments.mode)
    for line in sys.stdin:
        steps, *how = line.split()
        stay_on_two_cores()
        turns = pairs(int(steps)) if how == ["mixed"] else [False] * int(steps)
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for closed in turns:
            with gate_closed() if closed else contextlib.nullcontext():
                start = time.perf_counter()
                loss = step()
                torch.cuda.synchronize()
                seconds[closed].append(time.perf_counter() - start)
        print(json.dumps({"seconds": seconds[False], "closed": seconds[True], "loss": loss.item().hex()}), flush=True)
    if arguments.mode == "profiler":
        os._exit(0)  # what it does with its events when it stops is not asked for


if __name__ == "__main__":
    main()
