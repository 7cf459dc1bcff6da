"""Blocks of torch's CUDA allocator: the trace has what torch itself counts, to the byte, at every step."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "cuda_training.py"
SMALL_BLOCKS = recorded.PROGRAMS / "small_blocks.py"
STEPS = 5


def events_of(trace):
    """Sequence and bytes of every birth and death of a block on the first GPU, in order."""
    return recorded.query(
        trace,
        "SELECT seq, delta FROM (SELECT from_seq AS seq, bytes AS delta FROM block WHERE device = 'cuda:0'"
        " UNION ALL SELECT to_seq, -bytes FROM block WHERE device = 'cuda:0' AND to_seq IS NOT NULL)"
        " ORDER BY seq, delta",
    )


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
@pytest.mark.parametrize("model", ["gpt", "gpt_compiled", "resnet"])
def test_every_step_has_the_bytes_that_torch_counts(model, detail, tmp_path):
    done = recorded.record(tmp_path / "run", PROGRAM, model, STEPS, detail=detail, timeout=400)
    printed = json.loads(done.stdout.splitlines()[-1])
    (trace,) = recorded.traces(tmp_path / "run")
    steps = recorded.query(trace, "SELECT to_seq FROM mark WHERE kind = 'step' ORDER BY value")
    assert len(steps) == STEPS

    events = iter(events_of(trace))
    event = next(events, None)
    total = allocated = freed = 0
    for (seq,), counts in zip(steps, printed["counts"], strict=True):
        peak = total
        while event is not None and event[0] <= seq:
            total += event[1]
            allocated += event[1] > 0
            freed += event[1] < 0
            peak = max(peak, total)
            event = next(events, None)
        assert total == counts["allocated_bytes.all.current"]
        assert peak == counts["allocated_bytes.all.peak"]
        if detail == "full":  # in `lifetimes` the small blocks are summed
            assert allocated == counts["allocation.all.allocated"]
            assert freed == counts["allocation.all.freed"]
    assert recorded.query(trace, "SELECT coalesce(sum(count), 0) FROM loss") == [(0,)]


@pytest.mark.parametrize("model", ["gpt", "resnet"])
def test_losses_are_bit_equal_with_and_without_the_tool(model, tmp_path):
    plain = recorded.python(PROGRAM, model, STEPS)
    assert plain.returncode == 0, plain.stderr
    done = recorded.record(tmp_path / "run", PROGRAM, model, STEPS, detail="full", timeout=400)
    assert json.loads(plain.stdout)["losses"] == json.loads(done.stdout.splitlines()[-1])["losses"]


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_small_blocks_are_in_the_curve_to_the_byte(detail, tmp_path):
    done = recorded.record(tmp_path / "run", SMALL_BLOCKS, "--gather", "--device", "cuda", detail=detail)
    printed = json.loads(done.stdout.splitlines()[-1])
    (trace,) = recorded.traces(tmp_path / "run")
    marks = dict(recorded.query(trace, "SELECT text, from_seq FROM mark JOIN string ON string.id = mark.name"))
    events = events_of(trace)

    def alive(name):
        return sum(delta for seq, delta in events if seq < marks[name])

    assert {name: alive(name) - alive("begin") for name in printed["at_marks"]} == printed["at_marks"]
    # The gathered one has a block of its own, and no other has in `lifetimes`.
    own = recorded.query(
        trace,
        "SELECT bytes, storage IS NOT NULL FROM block WHERE device = 'cuda:0' AND address != 0 AND bytes < 65536"
        " AND from_seq > ? AND to_seq < ?",
        marks["threads are gone"],
        marks["its end"],
    )
    assert own == [(1024, 1)]
