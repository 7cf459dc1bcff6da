"""`show reserved` on a GPU: rows are what torch counts, the model of its allocator follows every event, and a prediction
is what the program reserves under the predicted setting."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "allocator_kinds.py"
RUNS = {
    "streams": ("", "streams:8", "graphs:8", "limited:8", "sizes:8"),
    "expandable": ("expandable_segments:True", "growing_shapes:9", "mem_pools:9", "emptied:9", "threads:9"),
    "split": ("max_split_size_mb:100,roundup_power2_divisions:8", "sizes:10", "training:10", "pinned_between:10"),
}


def run(folder, settings, kinds):
    env = recorded.environment(PYTORCH_CUDA_ALLOC_CONF=settings) if settings else recorded.environment()
    printed = folder.with_suffix(".json")
    recorded.record(folder, PROGRAM, printed, *kinds, detail="full", env=env)
    (trace,) = recorded.traces(folder)
    return trace, json.loads(printed.read_text())["marks"]


def reserved(trace, *options):
    result = recorded.tool("show", "reserved", "--json", trace, *options)
    assert result.returncode == 0, result.stderr
    (view,) = json.loads(result.stdout)["traces"]
    return view


@pytest.mark.parametrize("name", RUNS)
def test_the_model_follows_every_event(name, tmp_path):
    settings, *kinds = RUNS[name]
    trace, marks = run(tmp_path / name, settings, kinds)
    view = reserved(trace)
    assert view["settings"] == settings
    assert sum(row["bytes"] for row in view["rows"]) == view["counted_bytes"] == max(m["reserved_peak"] for m in marks)
    assert (view["model"]["equal"], view["model"]["placed"]) == (view["model"]["events"], view["model"]["requests"])
    for mark in marks:
        at = reserved(trace, "--at", f"mark:{mark['mark']}") if [m["mark"] for m in marks].count(mark["mark"]) == 1 else None
        if at is not None:
            assert at["reserved_bytes"] == mark["reserved_bytes"], mark["mark"]


def test_a_prediction_is_what_the_setting_gives(tmp_path):
    kinds = ("growing_shapes:11", "cache:11")
    trace, _ = run(tmp_path / "without", "", kinds)
    _, marks = run(tmp_path / "with", "expandable_segments:True", kinds)
    (predicted,) = reserved(trace, "--if", "expandable_segments:True")["predictions"]
    measured = max(mark["reserved_peak"] for mark in marks)
    assert abs(predicted["reserved_peak_bytes"] - measured) <= 0.03 * measured
