"""Allocated, active and reserved bytes: at every step mark the trace has what torch's memory_stats say, to the byte."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "cuda_training.py"
STEPS = 5
EXPANDABLE = "expandable_segments:True"


def run(folder, model: str, detail: str, conf: str = "") -> list[dict]:
    """What torch counted at each step."""
    env = recorded.environment(PYTORCH_CUDA_ALLOC_CONF=conf) if conf else recorded.environment()
    done = recorded.record(folder, PROGRAM, model, STEPS, detail=detail, timeout=400, env=env)
    return json.loads(done.stdout.splitlines()[-1])["counts"]


def figures(trace) -> list[tuple]:
    return recorded.query(
        trace,
        "SELECT end_bytes, active_end_bytes, reserved_end_bytes FROM interval JOIN interval_curve ON interval = id"
        " WHERE step IS NOT NULL AND device = 'cuda:0' ORDER BY step",
    )


def counted(counts: list[dict]) -> list[tuple]:
    names = ("allocated_bytes.all.current", "active_bytes.all.current", "reserved_bytes.all.current")
    return [tuple(step[name] for name in names) for step in counts]


@pytest.mark.parametrize("conf", ["", EXPANDABLE], ids=["segments", "expandable"])
@pytest.mark.parametrize("model", ["gpt", "gpt_compiled", "resnet", "graph", "streams"])
def test_full_has_all_three(model, conf, tmp_path):
    counts = run(tmp_path / "run", model, "full", conf)
    (trace,) = recorded.traces(tmp_path / "run")
    assert figures(trace) == counted(counts)
    assert recorded.query(trace, "SELECT coalesce(sum(count), 0) FROM loss") == [(0,)]
    assert recorded.query(trace, "SELECT count(*) FROM diagnostic WHERE code = 'provider_off'") == [(0,)]


@pytest.mark.parametrize("model", ["gpt", "resnet"])
def test_lifetimes_has_allocated_and_reserved(model, tmp_path):
    counts = run(tmp_path / "run", model, "lifetimes")
    (trace,) = recorded.traces(tmp_path / "run")
    assert figures(trace) == [(allocated, None, reserved) for allocated, _, reserved in counted(counts)]


def test_the_program_of_two_streams_is_what_it_says(tmp_path):
    """Frees that wait, and segments that are given back: else the test above would show nothing."""
    counts = run(tmp_path / "run", "streams", "full")
    assert any(active > allocated for allocated, active, _ in counted(counts))
    reserved = [step["reserved_bytes.all.current"] for step in counts]
    assert any(after < before for before, after in zip(reserved, reserved[1:], strict=False))
    (trace,) = recorded.traces(tmp_path / "run")
    # All blocks but those from before the allocator's trace was attached: the first one at most.
    by_stream = dict(recorded.query(trace, "SELECT stream, count(*) FROM block WHERE gpu = 0 GROUP BY stream"))
    assert by_stream.pop(None, 0) <= 1
    assert by_stream.keys() == {0, 1}
    assert by_stream[1] >= STEPS * 20


def test_an_allocator_that_reports_nothing_is_named(tmp_path):
    run(tmp_path / "run", "resnet", "lifetimes", "backend:cudaMallocAsync")
    (trace,) = recorded.traces(tmp_path / "run")
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE gpu = 0") == [(0,)]
    ((text,),) = recorded.query(
        trace, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text WHERE code = 'provider_off'"
    )
    assert "'cudaMallocAsync' is not supported" in text
    assert text in recorded.tool("report", tmp_path / "run").stdout
