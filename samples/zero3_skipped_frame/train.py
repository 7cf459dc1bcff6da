"""Trains units with sharded weights, one of which runs outside of the graph. See README.md for defect and fix."""

from __future__ import annotations

import argparse
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "executor" / "python"))

from dcmt_zero3 import ops, world  # noqa: E402
from dcmt_zero3.sharded import ShardedUnits  # noqa: E402

UNITS = 4
SKIPPED = 1
WIDTH = 301
BATCH = 4


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="whoever gathers outside of the graph owns the weights")
    parser.add_argument("--early", action="store_true", help="the first attempt: release after the forward")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args()


class Unit(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(torch.tanh(self.linear(x)))


def gathered_bytes(units: ShardedUnits) -> int:
    """What the rank has gathered of the skipped unit."""
    buffers = [buffer for id in units.ids(SKIPPED) for buffer in ops.gathered_buffers(id)]
    return sum(buffer.untyped_storage().nbytes() for buffer in buffers)


def train(rank: int, steps: int) -> list[tuple[str, int]]:
    """Loss, and bytes still gathered of the skipped unit, at the end of each step."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    units = ShardedUnits(rank, [Unit() for _ in range(UNITS)], skipped=frozenset({SKIPPED}))
    optimizer = torch.optim.SGD(units.shards(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    inputs = torch.randn(BATCH, WIDTH, generator=generator)
    labels = torch.randint(WIDTH, (BATCH,), generator=generator)
    seen = []
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(units(inputs), labels)
        units.start_backward(updates=True)
        loss.backward()
        units.end_backward()
        optimizer.step()
        seen.append((f"{loss.item():.9g}", gathered_bytes(units)))
    return seen


def main() -> None:
    arguments = parse_arguments()
    ops.set_switch("eager_gather_without_owner", not (arguments.fixed or arguments.early))
    ops.set_switch("early_release_before_backward", arguments.early)
    try:
        ranks = world.run_ranks(arguments.ranks, train, arguments.steps)
    except RuntimeError as error:
        sys.exit(f"the backward failed: {error}".splitlines()[0])
    for rank, steps in enumerate(ranks):
        for step, (loss, kept) in enumerate(steps):
            print(f"rank {rank} step {step} loss {loss} gathered afterwards {kept} B")


if __name__ == "__main__":
    main()
