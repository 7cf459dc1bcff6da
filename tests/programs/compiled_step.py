"""One training step of a plain model under torch.compile with the executor's backend and Inductor, on one rank.

    python compiled_step.py [SWITCH...]
"""

from __future__ import annotations

import itertools
import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "executor" / "python"))

from dcmt_zero3 import ops, world  # noqa: E402
from dcmt_zero3.backend import DynamoModel  # noqa: E402

LAYERS = 4
WIDTH = 129


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(LAYERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            x = torch.mm(x, weight)
        return x


def step(rank: int) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DynamoModel(itertools.count(), Model(), inner="inductor")
    result = model(torch.randn(8, WIDTH))
    model.start_backward(True)
    result.square().mean().backward()
    model.end_backward()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        ops.set_switch(name, True)
    world.run_ranks(1, step)
