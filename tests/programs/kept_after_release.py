"""Weights of a frozen trunk that a list keeps after their release. With --touch, a hook of the backward reads one element of each,
in another way for each, after the release. Losses do not depend on that. With --address, the graph's number is an
object's address, which differs in each run.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import signal
import threading

import torch

import sample_operators as zero3

GRAPH = 0
WIDTH = 300
KEYS = 5
UNTOUCHED = 4  # this key's weight is not read in any case


def by_operator(weight: torch.Tensor) -> float:
    return weight[100, 7].item()  # line of by_operator


def by_numpy(weight: torch.Tensor) -> float:
    array = weight.numpy()
    return float(array[WIDTH - 1, WIDTH - 1])  # line of by_numpy


def by_address(weight: torch.Tensor) -> float:
    return ctypes.c_float.from_address(weight.data_ptr()).value  # line of by_address


def by_thread(weight: torch.Tensor) -> float:
    read: list[float] = []
    thread = threading.Thread(target=lambda: read.append(by_numpy(weight)))
    thread.start()
    thread.join()
    return read[0]


TOUCHES = (by_operator, by_numpy, by_address, by_thread)


def closed_mappings() -> int:
    with open("/proc/self/maps") as maps:
        return sum(line.split()[1].startswith("---") for line in maps)


def step(head: torch.nn.Linear, inputs: torch.Tensor, touch: bool) -> torch.Tensor:
    kept = []
    for key in range(KEYS):
        weight = zero3.wait_allgather(zero3.allgather_param(SHARDS[key], GRAPH, key), GRAPH, key)
        with torch.no_grad():
            inputs = torch.nn.functional.linear(inputs, weight).relu()
        inputs = zero3.release_param(inputs, GRAPH, key, 1)
        kept.append(weight)

    def in_backward(gradient: torch.Tensor) -> None:
        for read, weight in zip(TOUCHES, kept):
            read(weight)

    outputs = head(inputs)
    if touch:
        outputs.register_hook(in_backward)
    loss = outputs.square().mean()
    loss.backward()
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--address", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()

    global GRAPH, SHARDS
    if arguments.address:
        GRAPH = id(zero3)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    SHARDS = [zero3.shard_weight(GRAPH, key, torch.randn(WIDTH, WIDTH) / WIDTH) for key in range(KEYS)]
    head = torch.nn.Linear(WIDTH, 8)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    inputs = torch.randn(4, WIDTH)
    before = 0
    for number in range(arguments.steps):
        loss = step(head, inputs, arguments.touch)
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item().hex(), float(head.weight.detach().sum()).hex())
        del loss
        gc.collect()
        before = closed_mappings() if number == 0 else before
    print("closed mappings", closed_mappings() - before)
    print("blocked signals", len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))


if __name__ == "__main__":
    main()
