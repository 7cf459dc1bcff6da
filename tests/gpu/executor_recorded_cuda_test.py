"""What dc-memtrace finds in the executor's training on a GPU is what the executor itself noticed, to the byte."""

from __future__ import annotations

import json

import pytest
import recorded
from executor_recorded_test import (
    DEFECT,
    PARAMETERS,
    PASSES,
    TRAIN,
    environment,
    keys,
    residual_by_executor,
    residual_in_trace,
    trace_in,
    train,
    verdicts,
)

pytestmark = pytest.mark.gpu
RANKS = 2
OPTIONS = ("--device", "cuda", "--ranks", RANKS)
KEPT = ("--switch", "wrapper_keeps_aliases")
OF_THE_ALLOCATOR = ("D08", "D09")  # waits and pools, whatever is released
details = pytest.mark.parametrize("detail", ["lifetimes", "full"])


def findings(folder) -> list[tuple[str, list[tuple[int, int, int]]]]:
    """Of each finding about lifetimes its classes, and (graph, parameter, bytes) of its items, sorted."""
    (seen,) = recorded.report(folder)
    found = []
    for finding in seen["findings"]:
        items = sorted((item["key"]["graph"], item["key"]["key"], item["bytes"]) for item in finding["items"])
        found.append((" ".join(finding["classes"]), items))
    return [one for one in found if one[0] not in OF_THE_ALLOCATOR]


@details
def test_recording_changes_no_number(tmp_path, detail):
    alone = recorded.python(*TRAIN, *map(str, OPTIONS), *DEFECT, *KEPT, env=environment())
    assert alone.returncode == 0, alone.stderr
    assert train(tmp_path, *OPTIONS, *DEFECT, *KEPT, detail=detail) == json.loads(alone.stdout)


@details
@pytest.mark.parametrize("kept", [(), KEPT], ids=["alone", "kept"])
def test_with_the_defect_exactly_the_residual_releases_are_listed_with_their_bytes(tmp_path, kept, detail):
    known = sorted(residual_by_executor(train(tmp_path, *OPTIONS, *DEFECT, *kept, detail=detail)))
    assert {graph for graph, _, _ in known} == set(range(RANKS)) and min(left for _, _, left in known) > 0
    if kept:
        assert [(graph, id) for graph, id, _ in known] == keys(range(PARAMETERS), RANKS, PASSES)
    assert sorted(residual_in_trace(trace_in(tmp_path))) == known
    assert findings(tmp_path) == [("D19", known)]
    assert verdicts(tmp_path).total() == PARAMETERS * PASSES * RANKS


@details
@pytest.mark.parametrize("kept", [(), KEPT], ids=["alone", "kept"])
def test_without_the_defect_nothing_is_listed_and_all_was_inspected(tmp_path, kept, detail):
    assert train(tmp_path, *OPTIONS, *kept, detail=detail)["events"] == []
    assert residual_in_trace(trace_in(tmp_path)) == [] and findings(tmp_path) == []
    assert verdicts(tmp_path) == {"freed": PARAMETERS * PASSES * RANKS}
