"""Worlds of ranks: simulated ones, each in a thread of its own, of which one runs at a time, and processes on GPUs."""

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

# So that ranks can trace. torch 2.11 without a GPU: once the first thread that entered the mode has ended, the next one
# that enters it crashes. Let the first one be that which imports.
with FakeTensorMode():
    pass


def run_ranks(size: int, function: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
    """Calls function(rank, *arguments) as each rank of a new world; returns what each returned.

    `options` are those of init_simulated. An exception of one rank makes the others' collectives fail; the first one
    raised is raised here.
    """
    world = next(_numbers)
    options.setdefault("bucket_elements", BUCKET_ELEMENTS)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            ops.init_simulated(world, rank, size, **options)
            # On a GPU all backwards would share one thread, in which the ranks would wait for each other.
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
    """Makes the calling thread a rank beside those of the other processes of `group`.

    On the CPU the group does the work; on a GPU, of which each process has one, a communicator of the executor's own.
    With `symmetric`, for GPUs that reach each other's memory, gathers go through that. `options` are those of init_group
    and init_nccl. ops.cleanup ends it.
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
    """The name under which torch's symmetric memory knows the group from here on."""
    from torch.distributed import _symmetric_memory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own rendezvous in Python would call this
        _symmetric_memory.enable_symm_mem_for_group(group.group_name)
    return group.group_name


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Nothing is reduced or freed inside; afterwards only persistent parameters are gathered, also after an error."""
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
    """What the executor noticed about a release; `value` is the bytes left, the declared count, or the uses to come."""

    kind: EventKind
    graph: int
    id: int
    value: int


def take_events() -> list[Event]:
    """Those of the calling rank since the last call."""
    numbers = iter(ops.take_events())
    return [Event(EventKind(kind), *rest) for kind, *rest in zip(numbers, numbers, numbers, numbers)]
