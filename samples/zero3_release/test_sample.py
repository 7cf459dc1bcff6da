"""The sample has the defect it claims and the fix removes it, by torch's own profiler and without dc-memtrace."""

from __future__ import annotations

import dataclasses

import pytest
import torch

import model
import operators
import train

LAYERS = 12
BUFFER = 1_048_584


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


def record(trunk, release: operators.Release) -> Run:
    operators.set_final_release(release)
    inputs = torch.randn(train.BATCH, model.NARROW)
    with torch.no_grad():
        trunk(inputs)  # compiles
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            trunk(inputs)
    events = profile.profiler.kineto_results.events()
    return Run(
        memory=[(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]" and e.nbytes() != 0],
        releases=[e.end_ns() for e in events if e.name() == "zero3_sample::release_param"],
        last_mm=max(e.start_ns() for e in events if e.name() == "aten::mm"),
    )


@pytest.fixture(scope="module", params=[False, True], ids=["compiled", "eager"])
def runs(request):
    torch.manual_seed(0)
    trunk = train.build_trunk(LAYERS, 1, request.param)
    return record(trunk, operators.Release.METADATA_ONLY), record(trunk, operators.Release.STORAGE)


def test_gathered_bytes_include_the_padding():
    assert operators.gathered_bytes(262_145) == BUFFER


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


def test_a_weight_with_two_uses_is_released_at_the_second():
    operators.set_final_release(operators.Release.STORAGE)
    shard = operators.shard_weight(7, 0, torch.ones(3))
    gathered = operators.allgather_param(shard, 7, 0)
    storage = gathered.untyped_storage()
    x = torch.ones(1)
    operators.release_param(x, 7, 0, 2)
    assert storage.nbytes() == 16
    operators.release_param(x, 7, 0, 2)
    assert storage.nbytes() == 0


def test_wait_needs_a_gather():
    with pytest.raises(RuntimeError, match="not gathered"):
        operators.wait_allgather(torch.ones(1), 7, 99)
