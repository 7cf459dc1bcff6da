"""Cuts a module's parameters into shards and registers them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

import torch
from torch import nn

from . import ops


@dataclasses.dataclass
class ShardedParameter:
    id: int
    shape: torch.Size
    shard: nn.Parameter  # reductions fill its .grad, the partition
    persistent: bool

    def full(self) -> torch.Tensor:
        """A full copy, for inspection. Every rank must call it."""
        return ops.gather_across(self.shard).view(-1)[: self.shape.numel()].view(self.shape)


class ShardedModel:
    """The common base of the ways to run a module with its parameters in shards."""

    def __init__(self, parameters: Iterable[ShardedParameter]):
        self._parameters = list(parameters)

    def shards(self) -> list[nn.Parameter]:
        return [one.shard for one in self._parameters]

    def full_parameters(self) -> list[torch.Tensor]:
        """Full copies, for inspection. Every rank must call it."""
        return [one.full() for one in self._parameters]

    def start_backward(self, updates: bool) -> None:
        """`updates`: the optimizer steps after this backward; otherwise the next backward adds to the gradients."""
        ops.start_backward(updates)


def shard(module: nn.Module, ids: Iterator[int], persistent_below: int = 0) -> dict[str, ShardedParameter]:
    """Registers the parameters of a module under the next ids. The module is moved to `meta` and has no data
    afterwards.

    Gradients are reduced in the dtype of the shards.
    """
    parameters = _register(module, ids, persistent_below)
    module.to("meta")
    return parameters


def shard_in_place(module: nn.Module, ids: Iterator[int], persistent_below: int = 0) -> dict[str, ShardedParameter]:
    """Like shard_module, but the module keeps its parameters, with their shapes and without bytes."""
    parameters = _register(module, ids, persistent_below)
    for name, one in parameters.items():
        ops.free_bytes(module.get_parameter(name), one.id)
    return parameters


def _register(module: nn.Module, ids: Iterator[int], persistent_below: int) -> dict[str, ShardedParameter]:
    parameters = {}
    rank, size = ops.rank(), ops.world_size()
    for name, full in module.named_parameters():
        p = math.ceil(full.numel() / size)
        flat = full.new_zeros(p * size)
        flat[: full.numel()].copy_(full.detach().view(-1))
        mine = nn.Parameter(flat[rank * p : (rank + 1) * p].clone())
        mine.grad = torch.zeros_like(mine)
        one = parameters[name] = ShardedParameter(next(ids), full.shape, mine, full.numel() < persistent_below)
        ops.register_param(one.id, list(full.shape), mine, mine.grad, one.persistent, mine.dtype)
    return parameters
