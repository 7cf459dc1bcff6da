"""Gather, wait and release of sharded weights, as operators written in Python: the library `zero3_sample`.

dc-memtrace has no built-in entry for them; `sample_operators.toml` describes them. Both ranks are simulated in this process: a weight of
N elements is cut into W equal shards, the last one padded, and a gather copies all of them into one allocation. The
registry maps (graph, key) to that allocation, which is what a release can reach; the operators hand out a view of it,
which is what everybody else holds.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))  # the module dc_memtrace

WORLD_SIZE = 2


class Release(enum.Enum):
    """What the final release of a weight does."""

    METADATA_ONLY = "metadata_only"  # the defect: only the registered tensor is emptied
    STORAGE = "storage"  # the fix: the storage gives its bytes back first


@dataclasses.dataclass
class _Weight:
    shards: list[torch.Tensor]
    shape: torch.Size


_library = torch.library.Library("zero3_sample", "DEF")
_library.define("allgather_param(Tensor shard, int graph, int id) -> Tensor")
_library.define("wait_allgather(Tensor(a) t, int graph, int id) -> Tensor(a)")
_library.define("release_param(Tensor(a) t, int graph, int id, int n_users) -> Tensor(a)")

allgather_param = torch.ops.zero3_sample.allgather_param.default
wait_allgather = torch.ops.zero3_sample.wait_allgather.default
release_param = torch.ops.zero3_sample.release_param.default

_weights: dict[tuple[int, int], _Weight] = {}
_gathered: dict[tuple[int, int], torch.Tensor] = {}
_uses_left: dict[tuple[int, int], int] = {}
_final_release = Release.METADATA_ONLY


def set_final_release(release: Release) -> None:
    """Chooses the defect or the fix for every release from here on."""
    global _final_release
    _final_release = release


def shard_elements(elements: int) -> int:
    """Elements of one rank's shard of a weight."""
    return math.ceil(elements / WORLD_SIZE)


def gathered_bytes(elements: int) -> int:
    """Bytes of a gathered float32 weight, padding included."""
    return WORLD_SIZE * shard_elements(elements) * torch.float32.itemsize


def shard_weight(graph: int, key: int, weight: torch.Tensor) -> torch.Tensor:
    """Registers a float32 weight under (graph, key) and returns rank 0's shard of it.

    The shards lie in a plain buffer: they stand for the memory of two ranks, and outside of torch's allocators they
    leave the numbers of this process to the gathered weights.
    """
    size = shard_elements(weight.numel())
    buffer = torch.frombuffer(bytearray(gathered_bytes(weight.numel())), dtype=torch.float32)
    buffer[: weight.numel()].copy_(weight.reshape(-1))
    shards = list(buffer.split(size))
    _weights[graph, key] = _Weight(shards, weight.shape)
    return shards[0]


@torch.library.impl(_library, "allgather_param", "CPU")
def _allgather(shard: torch.Tensor, graph: int, id: int) -> torch.Tensor:
    weight = _weights[graph, id]
    size = shard.numel()
    base = torch.empty(WORLD_SIZE * size)
    for rank, part in enumerate(weight.shards):
        base[rank * size : (rank + 1) * size].copy_(part)
    _gathered[graph, id] = base
    _uses_left.pop((graph, id), None)
    return base[: weight.shape.numel()].view(weight.shape)


@torch.library.impl(_library, "wait_allgather", "CPU")
def _wait(t: torch.Tensor, graph: int, id: int) -> torch.Tensor:
    if (graph, id) not in _gathered:
        raise RuntimeError(f"zero3_sample: weight {id} of graph {graph} is not gathered")
    return t  # the copies above are done: with a real collective, this is where a stream would wait


@torch.library.impl(_library, "release_param", "CPU")
def _release(t: torch.Tensor, graph: int, id: int, n_users: int) -> torch.Tensor:
    left = _uses_left.get((graph, id), n_users) - 1
    _uses_left[graph, id] = left
    if left == 0:
        registered = _gathered.pop((graph, id))
        if _final_release is Release.STORAGE:
            registered.untyped_storage().resize_(0)
        registered.data = torch.empty(0)
    return t
