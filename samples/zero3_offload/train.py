"""Trains units whose inputs wait in host buffers between forward and backward. See README.md for defect and fix."""

from __future__ import annotations

import argparse
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "executor" / "python"))

from dcmt_zero3 import ops, world  # noqa: E402
from dcmt_zero3.sharded import ShardedUnits  # noqa: E402

UNITS = 8
WIDTH = 64
BATCH = 4001  # inputs of units are the large tensors here, and of one size that nothing else has
INPUT_BYTES = BATCH * WIDTH * 4


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="a reloaded input is given up when it is waited for")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args()


class Unit(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x))


def train(rank: int, steps: int) -> list[str]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    units = ShardedUnits(rank, [Unit() for _ in range(UNITS)], offload=True)
    optimizer = torch.optim.SGD(units.shards(), lr=0.1)
    inputs = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(rank))
    losses = []
    for _ in range(steps):
        loss = units(inputs).square().mean()
        units.start_backward(updates=True)
        loss.backward()
        units.end_backward()
        optimizer.step()
        losses.append(f"{loss.item():.9g}")
    return losses


def main() -> None:
    arguments = parse_arguments()
    ops.set_switch("reload_map_held_to_end_of_backward", not arguments.fixed)
    for rank, losses in enumerate(world.run_ranks(arguments.ranks, train, arguments.steps)):
        print(f"rank {rank} losses {' '.join(losses)}")


if __name__ == "__main__":
    main()
