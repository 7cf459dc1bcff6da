"""Worlds of ranks: simulated ranks, a thread each, of which one runs at a time; or processes with GPUs."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import itertools
import threading
import warnings
from typing import Any, Callable, Iterator

import torch
import torch.distributed
from torch._subclasses.fake_tensor import FakeTensorMode

from . import ops

BUCKET_ELEMENTS = 1 << 16

_numbers = itertools.count()

# This lets ranks trace. In torch 2.11 without a GPU, FakeTensorMode crashes in a later thread once the first thread
# that entered it has ended. So the importing thread enters it first.
with FakeTensorMode():
    pass


def run_ranks(size: int, function: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
    """Calls function(rank, *arguments) as each rank of a new world; returns the results.

    `options` are those of init_simulated. If one rank raises an exception, the collectives of the others fail; the
    first exception is raised here.
    """
    world = next(_numbers)
    options.setdefault("bucket_elements", BUCKET_ELEMENTS)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            ops.init_simulated(world, rank, size, **options)
            # On a GPU, all backwards would share one thread, and ranks in it would block each other.
            with torch.autograd.set_multithreading_enabled(False):
                results[rank] = function(rank, *arguments)
        except BaseException as error:
            errors.append(error)
        finally:
            ops.cleanup()

    threads = [threading.Thread(target=run, args=(rank,), name=f"rank {rank}") for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def join_processes(
    group: torch.distributed.ProcessGroup, device: torch.device, symmetric: bool = False, **options: Any
) -> None:
    """Makes the calling thread a rank, together with the other processes of `group`.

    On the CPU, `group` runs the collectives. On GPUs, one for each process, a communicator of the executor runs them.
    With `symmetric`, for GPUs that can access each other's memory, gathers use that access. `options` are those of
    init_group and init_nccl. ops.cleanup ends the rank.
    """
    options.setdefault("bucket_elements", BUCKET_ELEMENTS)
    if device.type == "cpu":
        if symmetric:
            raise ValueError("symmetric memory is for GPUs")
        ops.init_group(group.group_name, **options)
        return
    if symmetric:
        options["symmetric_group"] = _with_symmetric_memory(group)
    rank = group.rank()
    unique_id = [ops.nccl_unique_id().tolist() if rank == 0 else None]
    torch.distributed.broadcast_object_list(unique_id, group=group, group_src=0)
    ops.init_nccl(torch.tensor(unique_id[0], dtype=torch.uint8), rank, group.size(), device, **options)


def _with_symmetric_memory(group: torch.distributed.ProcessGroup) -> str:
    """Registers the group in torch's symmetric memory; returns its name there."""
    from torch.distributed import _symmetric_memory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own rendezvous in Python calls the deprecated function
        _symmetric_memory.enable_symm_mem_for_group(group.group_name)
    return group.group_name


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Inside, nothing is reduced or freed. Afterwards only persistent parameters are gathered, also after an error."""
    ops.enable_profiling(True)
    try:
        yield
    finally:
        ops.enable_profiling(False)


class EventKind(enum.IntEnum):
    RESIDUAL = 0
    MISMATCH = 1
    LOST = 2


@dataclasses.dataclass(frozen=True)
class Event:
    """A problem that the executor noticed at a release; `value`: the bytes left, the declared count, or the uses left.
    """

    kind: EventKind
    graph: int
    id: int
    value: int


def drain_events() -> list[Event]:
    """The problems of the calling rank since the last call."""
    numbers = iter(ops.drain_events())
    return [Event(EventKind(kind), *rest) for kind, *rest in zip(numbers, numbers, numbers, numbers)]
