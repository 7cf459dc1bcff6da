"""A frozen trunk of linear layers whose weights are gathered for each use, and a trainable head."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from operators import allgather_param, release_param, shard_weight, wait_allgather

GRAPH = 0
WIDE = 4033
NARROW = 65
FEATURES = 16


class ShardedLinear(torch.nn.Module):
    """A linear layer without a weight of its own: it is gathered before each use and released after it."""

    def __init__(self, key: int, weight: torch.Tensor):
        super().__init__()
        self.key = key
        self.shard = shard_weight(GRAPH, key, weight)

    def gather(self) -> torch.Tensor:
        return allgather_param(self.shard, GRAPH, self.key)

    def forward(self, x: torch.Tensor, gathered: torch.Tensor) -> torch.Tensor:
        weight = wait_allgather(gathered, GRAPH, self.key)
        x = F.linear(x, weight)
        return release_param(x, GRAPH, self.key, 1)


class Trunk(torch.nn.Module):
    """`layers` sharded layers of 65 x 4033 elements, then a projection that every rank has in full."""

    def __init__(self, layers: int, prefetch: int):
        super().__init__()
        self.prefetch = prefetch
        self.layers = torch.nn.ModuleList(
            ShardedLinear(key, torch.randn(_shape(key)) * _shape(key)[1] ** -0.5) for key in range(layers)
        )
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
        weight = wait_allgather(ahead.pop(0), GRAPH, k)
        x = F.linear(x, weight)
        x = release_param(x, GRAPH, k, 1)
        return self._run(k + 1, x, ahead)


def _shape(key: int) -> tuple[int, int]:
    """Output and input features: wide and narrow in turn, from narrow input."""
    return (WIDE, NARROW) if key % 2 == 0 else (NARROW, WIDE)
