"""A gathered weight that backward needs is released between forward and backward; with --late, after backward.

Released early, the storage is empty when the layer norm's backward reads it: torch raises, the program says so in its
JSON line and goes on with the next step. (Not every kernel checks: an elementwise one would crash.) With --linear, the
weight is a linear layer's, whose backward stops before any read: at a view of the empty storage.
"""

from __future__ import annotations

import argparse
import json

import torch

import sample_operators as zero3

GRAPH = 0
KEY = 3
FEATURES = 65_537
SIDE = 257


def gather() -> torch.Tensor:
    return zero3.wait_allgather(zero3.allgather_param(SHARD, GRAPH, KEY), GRAPH, KEY)


def release(activation: torch.Tensor) -> torch.Tensor:
    return zero3.release_param(activation.detach(), GRAPH, KEY, 1)


def step(inputs: torch.nn.Parameter, late: bool, linear: bool) -> str | None:
    """One forward and backward; returns what torch said against it, or None."""
    if linear:
        outputs = torch.nn.functional.linear(inputs[:, :SIDE], gather())
    else:
        outputs = torch.nn.functional.layer_norm(inputs, (FEATURES,), gather())
    loss = outputs.relu().mean()
    if not late:
        release(loss)
    failure = None
    try:
        loss.backward()
    except RuntimeError as error:
        failure = str(error).splitlines()[0]
    if late:
        release(loss)
    return failure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--late", action="store_true", help="release after the last backward use")
    parser.add_argument("--keep-data", action="store_true", help="release the registered tensor only: reads succeed")
    parser.add_argument("--linear", action="store_true", help="a weight whose backward begins with a view of it")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()

    global SHARD
    torch.manual_seed(0)
    torch.set_num_threads(1)
    zero3.set_final_release(zero3.Release.METADATA_ONLY if arguments.keep_data else zero3.Release.STORAGE)
    SHARD = zero3.shard_weight(GRAPH, KEY, torch.randn(SIDE, SIDE) if arguments.linear else torch.randn(FEATURES))
    inputs = torch.nn.Parameter(torch.randn(2, FEATURES))
    optimizer = torch.optim.SGD([inputs], lr=0.1)
    failures = []
    for _ in range(arguments.steps):
        failures.append(step(inputs, arguments.late, arguments.linear))
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"failures": failures}))


if __name__ == "__main__":
    main()
