"""Gathered bytes of one rank follow from the number of units, ranks and elements, to the byte (by torch's profiler)."""

from __future__ import annotations

import pytest
import torch
from zero3_ranks import ops, padded, switched, world

from dcmt_zero3.sharded import ShardedUnits

WIDTH = 67  # 4,489 elements: a multiple of neither 2 nor 3
BATCH = 2
KEPT_BY_WRAPPER = ("release_clears_tensor_only", "wrapper_keeps_aliases")


def allocations(size: int, layers: int, **options) -> list[list[int]]:
    """Sizes that rank 0 allocates (positive) and frees (negative): of a forward, and of its backward."""

    def train(rank: int) -> list[list[int]] | None:
        units = ShardedUnits(rank, [torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(layers)], **options)
        x = torch.ones(BATCH, WIDTH, dtype=options.get("dtype") or torch.float32)
        phases = []
        for phase in ("forward", "backward"):
            with profiled(rank == 0) as events:
                if phase == "forward":
                    loss = units(x).sum()
                else:
                    units.start_backward(True)
                    loss.backward()
                    units.end_backward()
            phases.append(events)
        return phases

    return world.run_ranks(size, train, bucket_elements=10**5)[0]


class profiled:
    """In a `with` block, the list of what this thread allocates and frees inside; empty if not asked for."""

    def __init__(self, wanted: bool):
        self.profile = wanted and torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        )
        self.events: list[int] = []

    def __enter__(self) -> list[int]:
        if self.profile:
            self.profile.__enter__()
        return self.events

    def __exit__(self, *error) -> None:
        if self.profile:
            self.profile.__exit__(*error)
            events = self.profile.profiler.kineto_results.events()
            memory = [event for event in events if event.name() == "[memory]"]
            self.events.extend(event.nbytes() for event in sorted(memory, key=lambda event: event.start_ns()))


def peak_of(events: list[int], bytes: int) -> int:
    """The most blocks of exactly these bytes at one time."""
    alive = most = 0
    for event in events:
        alive += (event == bytes) - (event == -bytes)
        most = max(most, alive)
    assert alive <= 0  # what was gathered is gone when the pass is over
    return most


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("layers", [3, 6])
@pytest.mark.parametrize("prefetch", [0, 1, 2])
def test_a_release_that_frees_leaves_what_is_needed_at_once(size, layers, prefetch):
    for events in allocations(size, layers, prefetch=prefetch):
        assert peak_of(events, padded(WIDTH**2, size) * 4) == 1 + prefetch


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("layers", [3, 6])
@pytest.mark.parametrize("prefetch", [0, 1])
def test_a_release_that_does_not_free_leaves_all_that_was_gathered(size, layers, prefetch):
    with switched(*KEPT_BY_WRAPPER):
        passes = allocations(size, layers, prefetch=prefetch)
    for events in passes:
        assert peak_of(events, padded(WIDTH**2, size) * 4) == layers


@pytest.mark.parametrize("cached", [False, True])
def test_a_cast_cache_adds_one_unpadded_copy_for_each_parameter(cached):
    with switched(*["cast_cache_keeps_gathered"] * cached):
        passes = allocations(2, 5, dtype=torch.bfloat16)
    full, half = padded(WIDTH**2, 2) * 4, padded(WIDTH**2, 2) * 2
    copies = WIDTH**2 * 2
    assert copies != half
    for events, gradients in zip(passes, (0, 1), strict=True):  # which have the unpadded size too, one at a time
        seen = [peak_of(events, full), peak_of(events, copies), peak_of(events, half)]
        assert seen == ([1, 5 + gradients, 0] if cached else [0, gradients, 1])
