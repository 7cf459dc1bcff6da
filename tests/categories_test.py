"""The categories of memory, derived only from readings of the memory, equal an independent count in the program."""

from __future__ import annotations

import json

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "categories.py"
SMALL = "under 64 KiB, not followed"
# Other memory of a step: the batch, and results of operators that nothing keeps for backward.
OTHERS = {"variable", "replaced each step", "not attributed", SMALL}


@pytest.fixture(scope="module", params=recorded.some(["gpt", "vit", "lora"], 3))
def recording(request, tmp_path_factory):
    counted = recorded.python("-W", "ignore", PROGRAM, request.param, "count")
    assert counted.returncode == 0, counted.stderr
    folder = tmp_path_factory.mktemp("categories") / "out"
    recorded.record(folder, "-W", "ignore", PROGRAM, request.param)
    (trace,) = recorded.traces(folder)
    return json.loads(counted.stdout), trace


def test_bytes_of_each_category_are_those_of_the_count(recording):
    counted, trace = recording
    shown = recorded.tool("show", "live", "--json", "--at", "full", trace)
    (live,) = json.loads(shown.stdout)["traces"]
    groups = {group["name"]: group["bytes"] for group in live["by_category"]}
    all_bytes = sum(groups.values())
    for category, size in counted.items():
        assert abs(groups.pop(category, 0) - size) <= 0.002 * all_bytes, category
    assert set(groups) <= OTHERS
    assert groups.get("not attributed", 0) <= 0.01 * all_bytes


def test_most_of_the_peak_is_attributed(recording):
    _, trace = recording
    report = recorded.report(trace)[0]
    groups = {group["name"]: group["bytes"] for group in report["peak"]["by_category"]}
    assert report["findings"] == []
    # The peak is in the backward: temporary memory there was not alive when the memory was read.
    assert groups.get("not attributed", 0) <= 0.1 * report["peak"]["bytes"]
    text = recorded.tool("show", "peak", trace, "--by", "category").stdout
    assert "optimizer state" in text and "saved for backward" in text
