"""Fifty random plans: what the report predicts without the held bytes is what the fixed run of the plan measures."""

from __future__ import annotations

import json

import pytest
import recorded

PLANS = 50
PROGRAM = recorded.PROGRAMS / "random_plan.py"


def run(folder, *switches: str):
    result = recorded.record(folder, PROGRAM, "--plans", PLANS, *switches)
    (seen,) = recorded.report(folder)
    return [json.loads(line) for line in result.stdout.splitlines()], seen | {"all": recorded.releases(folder)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    return run(folder / "defect"), run(folder / "fixed", "--fixed")


def above_start(steps: list[dict], field: str) -> list[int]:
    """Bytes of each plan's peak above what was allocated when its step began."""
    plans = [step for step in steps if 0 < step["step"] <= PLANS]
    assert len(plans) == PLANS
    return [step[field] - step["start_bytes"] for step in plans]


def test_measured_peaks_are_those_of_the_simulation(runs):
    for lines, seen in runs:
        assert above_start(seen["steps"], "peak_bytes") == [line["peak"] for line in lines]


def test_predictions_are_the_measured_peaks_of_the_fixed_run(runs):
    (_, defect), (lines, fixed) = runs
    predicted = above_start(defect["steps"], "predicted_bytes")
    assert predicted == [line["peak"] for line in lines]
    assert predicted == above_start(fixed["steps"], "peak_bytes")
    assert predicted == above_start(fixed["steps"], "predicted_bytes")


def test_held_bytes_are_those_of_the_simulation(runs):
    (lines, defect), (_, fixed) = runs
    held = {}
    for release in defect["all"]:
        if release["residual"]:
            graph = release["key"]["graph"]
            held[graph] = held.get(graph, 0) + release["bytes_settled"]
    assert [held.get(line["plan"], 0) for line in lines] == [line["held"] for line in lines]
    assert fixed["findings"] == []
