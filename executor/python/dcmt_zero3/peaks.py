"""Computes by formula what a rank must hold, to compare it with what the run counts.

`needed`: the highest sum of gathered bytes if every weight is freed after its last use. A parameter of N elements of s
bytes has W·ceil(N/W)·s bytes. `at_rest`: the bytes allocated between steps: of each parameter its shard, the
partition of its gradient, two moments and the step number of AdamW; and what is kept on purpose.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable

import torch
from torch import fx

from . import ops
from .shards import ShardedParameter

STEP_NUMBER = 4  # AdamW has one for each parameter


@dataclasses.dataclass
class Need:
    """Bytes of one rank."""

    needed: int
    at_rest: int


def gathered_bytes(parameter: ShardedParameter, dtype: torch.dtype | None = None) -> int:
    return parameter.shard.numel() * ops.world_size() * (dtype or parameter.shard.dtype).itemsize


def of_shards(parameters: Iterable[ShardedParameter]) -> int:
    return sum(4 * one.shard.nbytes + STEP_NUMBER for one in parameters)


def of_units(unit_bytes: list[int], prefetch: int, skipped: frozenset[int]) -> int:
    """The highest sum of gathered bytes. While a unit runs, it and the units fetched ahead are gathered, and the
    skipped units that wait for a backward.

    The windows of the backward are those of the forward.
    """
    most = 0
    for unit in range(len(unit_bytes)):
        window = range(unit, min(unit + prefetch + 1, len(unit_bytes)))
        held = {one for one in skipped if one < unit} | set(window)
        most = max(most, sum(unit_bytes[one] for one in held))
    return most


def of_graphs(parameters: list[ShardedParameter], needed: int) -> Need:
    """`needed`: of the graph with the highest need, without parameters that stay gathered."""
    stays = sum(gathered_bytes(one) for one in parameters if one.persistent)
    return Need(stays + needed, stays + of_shards(parameters))


def of_graph(graph: fx.Graph, parameters: Iterable[ShardedParameter]) -> int:
    """Computed from the gathers and releases in the graph, without parameters that stay gathered."""
    bytes_of = {one.id: gathered_bytes(one) for one in parameters if not one.persistent}
    released = collections.Counter()
    held = most = 0
    for node in graph.nodes:
        if node.target is ops.allgather_param.default:
            held += bytes_of.get(node.args[2], 0)
            most = max(most, held)
        elif getattr(node.target, "overloadpacket", None) is ops.release_param:
            _, _, id, users = node.args
            released[id] += 1
            if released[id] == users:
                held -= bytes_of.get(id, 0)
    return most
