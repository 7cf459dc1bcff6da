"""The sample has the defect it claims and the fix removes it, by torch's own profiler and without dc-memtrace."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import model
import train
from dcmt_zero3 import ops, world

LAYERS = 12
BUFFER = 4 * model.WIDE * model.NARROW


@dataclasses.dataclass
class Run:
    """One step's allocations and frees as (time, bytes), the ends of its releases, and the start of its last mm."""

    memory: list[tuple[int, int]]
    releases: list[int]
    last_mm: int

    def buffers_alive(self, at: int | None = None) -> int:
        seen = [size for when, size in self.memory if at is None or when <= at]
        return seen.count(BUFFER) - seen.count(-BUFFER)

    def peak_buffers(self) -> float:
        return peak([event for event in self.memory if abs(event[1]) == BUFFER]) / BUFFER


def peak(events: list[tuple[int, int]]) -> int:
    total = highest = 0
    for _, size in events:
        total += size
        highest = max(highest, total)
    return highest


def record(trunk, fixed: bool) -> Run:
    train.choose_release(fixed)
    inputs = torch.randn(train.BATCH, model.NARROW)
    with torch.no_grad():
        trunk(inputs)  # compiles
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            trunk(inputs)
    events = profile.profiler.kineto_results.events()
    return Run(
        memory=[(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]" and e.nbytes() != 0],
        releases=[e.end_ns() for e in events if e.name() == "dcmt_z3::release_param"],
        last_mm=max(e.start_ns() for e in events if e.name() == "aten::mm"),
    )


@pytest.fixture(scope="module", params=[False, True], ids=["compiled", "eager"])
def runs(request):
    def run(rank: int) -> tuple[Run, Run]:
        torch.manual_seed(0)
        trunk = train.build_trunk(rank, LAYERS, 1, request.param)
        return record(trunk, fixed=False), record(trunk, fixed=True)

    yield world.run_ranks(1, run)[0]
    for name in ops.switches_on():
        ops.set_switch(name, False)


def test_defect_keeps_every_buffer_to_the_end_of_the_graph(runs):
    defect, _ = runs
    assert defect.peak_buffers() == 12.0
    assert defect.buffers_alive(at=defect.last_mm) == 12
    assert defect.buffers_alive() == 0


def test_fix_needs_two_buffers(runs):
    _, fixed = runs
    assert fixed.peak_buffers() == 2.0
    assert fixed.buffers_alive(at=fixed.last_mm) == 0
    assert fixed.buffers_alive() == 0


def test_peak_of_the_fix_follows_from_the_defect(runs):
    defect, fixed = runs
    assert len(defect.releases) == LAYERS
    freed_at_release = [event for event in defect.memory if event[1] != -BUFFER]
    freed_at_release += [(end, -BUFFER) for end in defect.releases]
    assert peak(sorted(freed_at_release)) == peak(fixed.memory)
