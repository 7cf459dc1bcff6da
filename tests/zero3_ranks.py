"""Simulated ranks for tests of the executor: parameters cut into shards here, by code of the tests' own."""

from __future__ import annotations

import math
import os
import sys

import recorded
import torch

sys.path.insert(0, str(recorded.ROOT / "executor" / "python"))

from dcmt_zero3 import ops, world  # noqa: E402

WORLDS = (1, 2, 3, 8)
# No elements, one, a scalar, fewer than ranks, a multiple of 2, 3 and 8 and its neighbours, more than one dimension.
SHAPES = ((0,), (1,), (), (2,), (23,), (24,), (25,), (3, 5), (2, 0, 3), (5, 7, 3))

# The device of all tensors that tests make inside of run().
DEVICE = torch.device(os.environ.get("DCMT_TEST_DEVICE", "cpu"))

NOWHERE = torch.empty(0, device=DEVICE)  # the tensor argument that only positions an operator in the graph


def padded(elements: int, size: int) -> int:
    return size * math.ceil(elements / size)


def numbered(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Values that are all different and exact in half precision."""
    return torch.arange(1, math.prod(shape) + 1).reshape(shape).to(dtype)


class Rank:
    """One rank's side of a test. Graphs have their own numbers on each rank."""

    def __init__(self, rank: int):
        self.rank = rank
        self.size = ops.world_size()
        self.graph = 100 * rank
        self.shards: dict[int, torch.Tensor] = {}
        self.gradients: dict[int, torch.Tensor] = {}

    def shard_of(self, full: torch.Tensor) -> torch.Tensor:
        p = math.ceil(full.numel() / self.size)
        flat = torch.full((p * self.size,), -1, dtype=full.dtype, device=full.device)
        flat[: full.numel()] = full.reshape(-1)
        return flat[self.rank * p : (self.rank + 1) * p].clone()

    def add(self, id: int, full: torch.Tensor, gradient_as: torch.dtype | None = None, **options) -> None:
        self.shards[id] = self.shard_of(full)
        self.gradients[id] = torch.full_like(self.shards[id], 7, dtype=gradient_as or full.dtype)
        ops.register_param(id, list(full.shape), self.shards[id], self.gradients[id], **options)

    def graph_of(self, *ids: int, number: int = 0) -> int:
        ops.register_graph_z3(self.graph + number, list(ids))
        return self.graph + number

    def gather(self, id: int, dtype: torch.dtype | None = None, number: int = 0) -> torch.Tensor:
        gathered = ops.allgather_param(self.shards.get(id, NOWHERE), self.graph + number, id, dtype)
        if DEVICE.type == "cpu":
            return gathered
        return ops.wait_allgather(gathered, self.graph + number, id)

    def wait(self, tensor: torch.Tensor, id: int) -> torch.Tensor:
        return ops.wait_allgather(tensor, self.graph, id)

    def release(self, id: int, users: int = 1, number: int = 0) -> torch.Tensor:
        return ops.release_param(NOWHERE, self.graph + number, id, users)

    def reduce(self, id: int, gradient: torch.Tensor, number: int = 0) -> torch.Tensor:
        return ops.reduce_grad(gradient, self.graph + number, id)

    def end_backward(self, number: int = 0, **options) -> None:
        ops.end_backward([], self.graph + number, **options)


def run(size: int, test, *arguments, **options) -> list:
    """Runs test(Rank, *arguments) on every rank."""
    options.setdefault("device", DEVICE)

    def as_rank(rank: int):
        with DEVICE:
            return test(Rank(rank), *arguments)

    return world.run_ranks(size, as_rank, **options)


def gathers() -> int:
    """The number of all-gathers of the calling rank."""
    return ops.traffic()[1]


def storage(tensor: torch.Tensor) -> int:
    """The identity of a storage that is alive."""
    return tensor.untyped_storage()._cdata


def nbytes(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def watch(tensor: torch.Tensor):
    """A function that returns True as long as the tensor's storage has an owner."""
    reference = tensor.untyped_storage()._weak_ref()
    return lambda: not torch.UntypedStorage._expired(reference)


class switched:
    """Turns switches on for a `with` block."""

    def __init__(self, *names: str):
        self.names = names

    def __enter__(self) -> None:
        for name in self.names:
            ops.set_switch(name, True)

    def __exit__(self, *_) -> None:
        for name in self.names:
            ops.set_switch(name, False)
