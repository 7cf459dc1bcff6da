"""Gathered bytes of one rank follow from the number of units, ranks and elements, to the byte.

By torch's profiler, and by what the training program counts of itself.
"""

from __future__ import annotations

import json
import math

import pytest
import recorded
import torch
from executor_recorded_test import environment
from executor_training_test import arguments_of, sharded
from zero3_ranks import ops, padded, switched, world

from dcmt_zero3 import model
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


BUCKET = 5000


def unit_sizes() -> list[list[int]]:
    """Elements of the parameters that the training program makes by default, unit by unit."""
    made = arguments_of()
    units = model.gpt(made.layers, made.width, 4, made.vocabulary, made.tokens)
    return [[one.numel() for one in unit.parameters()] for unit in units]


def peaks_of(size: int, **options) -> list[dict]:
    """Those of all steps of all ranks."""
    return [peaks for rank in sharded(size, bucket=BUCKET, steps=2, **options) for peaks in rank["peaks"]]


def all_gathered(size: int) -> int:
    return sum(padded(one, size) * 4 for unit in unit_sizes() for one in unit)


def state(size: int) -> int:
    """Shard, gradient and two moments of AdamW, and its step number."""
    return sum(4 * math.ceil(one / size) * 4 + 4 for unit in unit_sizes() for one in unit)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("prefetch", [0, 1])
def test_training_counts_what_the_formulae_say(size, prefetch):
    units = [sum(padded(one, size) * 4 for one in unit) for unit in unit_sizes()]
    window = max(sum(units[first : first + 1 + prefetch]) for first in range(len(units)))
    for peaks in peaks_of(size, prefetch=prefetch):
        assert peaks["gathered"] == {"needed": window, "counted": window}
        assert peaks["at_rest"] == {"needed": state(size), "counted": state(size)}
        assert peaks["allocated"] > window + state(size)


@pytest.mark.parametrize(
    "options",
    [
        {"persistent_below": 100}, {"bf16": True, "offload": True}, {"skipped": [1], "prefetch": 2},
        {"skipped": [0, 2], "offload": True}, {"persistent_below": 100, "bf16": True}, {"compiled": True},
        {"compiled": True, "persistent_below": 100, "reuse_buffers": True},
    ],
    ids=str,
)  # fmt: skip
def test_no_option_makes_the_count_differ_from_the_formula(options):
    for peaks in peaks_of(3, **options):
        for one in (peaks["gathered"], peaks["at_rest"]):
            assert one["needed"] == one["counted"] > 0


@pytest.mark.parametrize("compiled", [False, True])
def test_weights_that_are_not_freed_are_counted_beside_what_is_needed(compiled):
    healthy = peaks_of(2, compiled=compiled)
    with switched(*KEPT_BY_WRAPPER):
        defect = peaks_of(2, compiled=compiled)
    for peaks, right in zip(defect, healthy, strict=True):
        assert peaks["gathered"] == {"needed": right["gathered"]["needed"], "counted": all_gathered(2)}
        assert peaks["gathered"]["needed"] < all_gathered(2)
        assert peaks["at_rest"] == right["at_rest"]


def test_k6_buckets_that_are_kept_are_counted_at_rest():
    with switched("buckets_kept_into_optimizer"):
        for peaks in peaks_of(2):
            assert peaks["at_rest"] == {"needed": state(2), "counted": state(2) + 2 * BUCKET * 4}


def test_the_program_prints_the_peaks_of_every_rank_and_step_as_published():
    command = ("-m", "dcmt_zero3.train", "--ranks", 3, "--steps", 2, "--as-published")
    done = recorded.python(*command, env=environment())
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert {event["kind"] for event in printed["events"]} == {0}
    assert [len(rank) for rank in printed["peaks"]] == [2, 2, 2]
    for peaks in [one for rank in printed["peaks"] for one in rank]:
        assert peaks["gathered"]["counted"] > peaks["gathered"]["needed"]
        behind = 3 - 1  # elements that are read past the end of a bucket
        assert peaks["at_rest"]["counted"] == peaks["at_rest"]["needed"] + 2 * ((1 << 16) + behind) * 4
