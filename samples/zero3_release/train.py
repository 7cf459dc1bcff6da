"""Trains a small head on a trunk with sharded weights. See README.md for the defect it shows and the fix."""

from __future__ import annotations

import argparse
import ctypes
import hashlib

import torch

import inductor
import model
import operators

BATCH = 4
CLASSES = 8


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="release the storage, not the registered tensor only")
    parser.add_argument("--eager", action="store_true", help="run without torch.compile")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--prefetch", type=int, default=1, help="layers gathered ahead of the one in use")
    parser.add_argument("--steps", type=int, default=6)
    return parser.parse_args()


def build_trunk(layers: int, prefetch: int, eager: bool):
    """The trunk as a function of its input."""
    if eager:
        return model.EagerTrunk(layers, prefetch)
    inductor.register_operators()
    return torch.compile(model.Trunk(layers, prefetch), fullgraph=True, dynamic=False, options=inductor.OPTIONS)


def digest(tensors: list[torch.Tensor]) -> str:
    """SHA-256 over the bytes of all tensors."""
    sha = hashlib.sha256()
    for tensor in tensors:
        values = tensor.detach().contiguous()
        sha.update(ctypes.string_at(values.data_ptr(), values.nbytes))
    return sha.hexdigest()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    operators.set_final_release(operators.Release.STORAGE if arguments.fixed else operators.Release.METADATA_ONLY)

    trunk = build_trunk(arguments.layers, arguments.prefetch, arguments.eager)
    head = torch.nn.Linear(model.FEATURES, CLASSES)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    inputs = torch.randn(BATCH, model.NARROW)
    labels = torch.randint(CLASSES, (BATCH,))

    for step in range(arguments.steps):
        with torch.no_grad():
            features = trunk(inputs)
        loss = torch.nn.functional.cross_entropy(head(features), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.9g}", flush=True)
    print("sha256", digest(operators.sharded_weights() + list(head.parameters())))


if __name__ == "__main__":
    main()
