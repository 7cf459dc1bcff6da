"""Random plans: what the report predicts without the held bytes is what the fixed run of the plan measures.

DCMT_PLANS says how many; fifty without it.
"""

from __future__ import annotations

import json
import os

import pytest
import recorded

PLANS = int(os.environ.get("DCMT_PLANS", "50"))
PROGRAM = recorded.PROGRAMS / "random_plan.py"


def run(folder, *switches: str):
    result = recorded.record(folder, PROGRAM, "--plans", PLANS, *switches, flags=recorded.SAMPLE_OPERATORS)
    (seen,) = recorded.report(folder)
    return [json.loads(line) for line in result.stdout.splitlines()], seen | {"all": recorded.releases(folder)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    return run(folder / "defect"), run(folder / "fixed", "--fixed")


def above_begin(steps: list[dict], predicted: bool = False) -> list[int]:
    """Bytes of each plan's peak above what was allocated when its step began; the set-up is a step before them."""
    assert len(steps) == PLANS + 1
    prefix = "predicted_" if predicted else ""
    return [step[f"{prefix}peak_bytes"] - step[f"{prefix}begin_bytes"] for step in steps[1:]]


def test_measured_peaks_are_those_of_the_simulation(runs):
    for lines, seen in runs:
        assert above_begin(seen["steps"]) == [line["peak"] for line in lines]


def test_predictions_are_the_measured_peaks_of_the_fixed_run(runs):
    (_, defect), (lines, fixed) = runs
    predicted = above_begin(defect["steps"], predicted=True)
    assert predicted == [line["peak"] for line in lines]
    assert predicted == above_begin(fixed["steps"])
    assert predicted == above_begin(fixed["steps"], predicted=True)


def test_held_bytes_are_those_of_the_simulation(runs):
    (lines, defect), (_, fixed) = runs
    held = {}
    for release in defect["all"]:
        if release["residual"]:
            graph = release["key"]["graph"]
            held[graph] = held.get(graph, 0) + release["bytes_settled"]
    assert [held.get(line["plan"], 0) for line in lines] == [line["held"] for line in lines]
    assert fixed["findings"] == []
