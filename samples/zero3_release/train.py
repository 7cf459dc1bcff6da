"""Trains a small head on a trunk with sharded weights. See README.md for the defect it shows and the fix."""

from __future__ import annotations

import argparse
import ctypes
import hashlib

import torch

import model
from dcmt_zero3 import ops, world

BATCH = 4
CLASSES = 8


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="release the storage, not the registered tensor only")
    parser.add_argument("--eager", action="store_true", help="run without torch.compile")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--prefetch", type=int, default=1, help="layers gathered ahead of the one in use")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--ranks", type=int, default=1, help="simulated in this process, each with a thread")
    return parser.parse_args()


def choose_release(fixed: bool) -> None:
    ops.set_switch("release_clears_tensor_only", not fixed)
    ops.set_switch("wrapper_keeps_aliases", True)  # with or without the fix


def build_trunk(graph: int, layers: int, prefetch: int, eager: bool) -> torch.nn.Module:
    if eager:
        return model.EagerTrunk(graph, layers, prefetch)
    from dcmt_zero3 import inductor  # imports torch's compilers, which needs longer than the eager training

    trunk = model.Trunk(graph, layers, prefetch)
    return torch.compile(trunk, fullgraph=True, dynamic=False, options=inductor.OPTIONS)


def digest(tensors: list[torch.Tensor]) -> str:
    """SHA-256 over the bytes of all tensors."""
    sha = hashlib.sha256()
    for tensor in tensors:
        values = tensor.detach().contiguous()
        sha.update(ctypes.string_at(values.data_ptr(), values.nbytes))
    return sha.hexdigest()


def train(rank: int, arguments: argparse.Namespace) -> list[str]:
    """What the rank has to print."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    trunk = build_trunk(rank, arguments.layers, arguments.prefetch, arguments.eager)
    head = torch.nn.Linear(model.FEATURES, CLASSES)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    inputs = torch.randn(BATCH, model.NARROW)
    labels = torch.randint(CLASSES, (BATCH,))

    lines = []
    for step in range(arguments.steps):
        ops.start_forward()
        with torch.no_grad():
            features = trunk(inputs)
        ops.end_forward()
        loss = torch.nn.functional.cross_entropy(head(features), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        lines.append(f"rank {rank} step {step} loss {loss.item():.9g}")
    shards = [layer.shard for layer in trunk.layers]
    lines.append(f"rank {rank} sha256 {digest(shards + list(head.parameters()))}")
    return lines


def main() -> None:
    arguments = parse_arguments()
    torch.use_deterministic_algorithms(True)
    choose_release(arguments.fixed)
    for lines in world.run_ranks(arguments.ranks, train, arguments):
        print(*lines, sep="\n")


if __name__ == "__main__":
    main()
