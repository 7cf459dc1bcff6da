"""A frozen trunk of linear layers whose weights are gathered for each use, and released after it."""

from __future__ import annotations

import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "executor" / "python"))

from dcmt_zero3 import ops  # noqa: E402

WIDE = 4033
NARROW = 65
FEATURES = 16


class ShardedLinear(torch.nn.Module):
    """A linear layer without a weight of its own: it is gathered before each use and released after it."""

    def __init__(self, graph: int, key: int, weight: torch.Tensor):
        super().__init__()
        self.graph, self.key = graph, key
        self.shard = register_weight(key, weight)

    def gather(self) -> torch.Tensor:
        return ops.allgather_param(self.shard, self.graph, self.key)

    def forward(self, x: torch.Tensor, gathered: torch.Tensor) -> torch.Tensor:
        weight = ops.wait_allgather(gathered, self.graph, self.key)
        x = F.linear(x, weight)
        return ops.release_param(x, self.graph, self.key, 1)


class Trunk(torch.nn.Module):
    """`layers` sharded layers of 65 x 4033 elements, then a projection that every rank has in full."""

    def __init__(self, graph: int, layers: int, prefetch: int):
        super().__init__()
        self.graph = graph
        self.prefetch = prefetch
        self.layers = torch.nn.ModuleList(
            ShardedLinear(graph, key, torch.randn(_shape(key)) * _shape(key)[1] ** -0.5) for key in range(layers)
        )
        ops.register_graph_z3(graph, list(range(layers)))
        width = _shape(layers - 1)[0]
        self.register_buffer("projection", torch.randn(width, FEATURES) * width**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gathered: list[torch.Tensor] = []
        for k, layer in enumerate(self.layers):
            while len(gathered) < min(k + self.prefetch + 1, len(self.layers)):
                gathered.append(self.layers[len(gathered)].gather())
            x = layer(x, gathered[k])
        return torch.mm(x, self.projection)


class EagerTrunk(Trunk):
    """The same without torch.compile. Each layer is called by the one before it, so the locals of all layers, and
    with them the gathered weights, live until the innermost call returns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._run(0, x, [self.layers[k].gather() for k in range(min(self.prefetch, len(self.layers)))])

    def _run(self, k: int, x: torch.Tensor, ahead: list[torch.Tensor]) -> torch.Tensor:
        if k == len(self.layers):
            return torch.mm(x, self.projection)
        if k + self.prefetch < len(self.layers):
            ahead.append(self.layers[k + self.prefetch].gather())
        weight = ops.wait_allgather(ahead.pop(0), self.graph, k)
        x = F.linear(x, weight)
        x = ops.release_param(x, self.graph, k, 1)
        return self._run(k + 1, x, ahead)


def register_weight(key: int, weight: torch.Tensor) -> torch.Tensor:
    """Returns the calling rank's shard.

    It lies in a plain buffer: outside of torch's allocator it leaves the numbers of this process to gathered weights.
    """
    size = -(-weight.numel() // ops.world_size())
    buffer = bytearray(size * ops.world_size() * torch.float32.itemsize)
    padded = torch.frombuffer(buffer, dtype=torch.float32)
    padded[: weight.numel()].copy_(weight.reshape(-1))
    shard = padded.split(size)[ops.rank()]
    ops.register_param(key, list(weight.shape), shard)
    return shard


def _shape(key: int) -> tuple[int, int]:
    """Output and input features: wide and narrow in turn, from narrow input."""
    return (WIDE, NARROW) if key % 2 == 0 else (NARROW, WIDE)
