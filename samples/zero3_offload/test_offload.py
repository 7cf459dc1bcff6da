"""The sample has the defect it claims and the fix removes it, by torch's own profiler and without dc-memtrace."""

from __future__ import annotations

import pytest
import torch

import train
from dcmt_zero3 import ops, world


def run(defect: bool) -> tuple[list[str], list[int]]:
    """Losses, and the sizes of all allocations (positive) and frees (negative) in their order."""
    ops.set_switch("reload_map_held_to_end_of_backward", defect)
    memory = []

    def profiled(rank: int) -> list[str]:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            losses = train.train(rank, 3)
        events = profile.profiler.kineto_results.events()
        memory.extend(e.nbytes() for e in sorted(events, key=lambda e: e.start_ns()) if e.name() == "[memory]")
        return losses

    (losses,) = world.run_ranks(1, profiled)
    ops.set_switch("reload_map_held_to_end_of_backward", False)
    return losses, memory


@pytest.fixture(scope="module")
def runs():
    return run(defect=True), run(defect=False)


def peak(deltas: list[int]) -> int:
    total = highest = 0
    for delta in deltas:
        total += delta
        highest = max(highest, total)
    return highest


def test_both_runs_compute_the_same(runs):
    (defect, _), (fixed, _) = runs
    assert defect == fixed and len(fixed) == 3


def test_the_defect_has_all_reloaded_inputs_at_once(runs):
    (_, defect), (_, fixed) = runs
    assert peak(defect) - peak(fixed) == (train.UNITS - 1) * train.INPUT_BYTES
