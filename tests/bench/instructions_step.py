"""Steps of a small GPT whose instructions callgrind counts: instructions_bench.py switches it on after the warm-up."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))

from cuda_models import Gpt  # noqa: E402

WARM_UP = 5


def count(state: str) -> None:
    # Our agent has no business in callgrind's helper.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(["callgrind_control", "-i", state, str(os.getpid())], check=True, env=env, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--profiler", action="store_true", help="torch's profiler, with operators and memory")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Gpt(arguments.layers, width=64, heads=1, tokens=128, vocabulary=256)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    ids = torch.randint(256, (2, 33))
    if arguments.profiler:
        activities = [torch.profiler.ProfilerActivity.CPU]
        torch.profiler.profile(activities=activities, profile_memory=True).start()
    # One line calls every step: new Python stacks would be a cost of the first step only.
    for step in range(WARM_UP + arguments.steps):
        if step == WARM_UP:
            count("on")
        logits = model(ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        del logits
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    count("off")
    print(loss.item().hex(), flush=True)
    os._exit(0)  # what comes down with the interpreter is not measured


if __name__ == "__main__":
    main()
