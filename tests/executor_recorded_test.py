"""What dc-memtrace finds in the executor's training is what the executor itself noticed, release by release."""

from __future__ import annotations

import json
import os

import pytest
import recorded

TRAIN = ("-m", "dcmt_zero3.train", "--steps", "2", "--layers", "1")
PARAMETERS = 2 + 12 + 4  # of the embedding, the block and the head
DEFECT = ("--switch", "release_clears_tensor_only")


def environment() -> dict[str, str]:
    env = recorded.environment(DCMT_BUILD_DIR=str(recorded.BUILD), OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join([str(recorded.ROOT / "executor" / "python"), env["PYTHONPATH"]])
    return env


def train(folder, *options: object, detail: str = "lifetimes") -> dict:
    """The program's own result; the same with and without the recorder."""
    command = (*TRAIN, *map(str, options))
    done = recorded.record(folder, *command, detail=detail, env=environment())
    alone = recorded.python(*command, env=environment())
    assert alone.stdout == done.stdout
    return json.loads(done.stdout)


def residual_in_trace(folder) -> list[tuple[int, int, int]]:
    """(graph, parameter, bytes) of every final release whose bytes were still there at the next operator, in order."""
    (trace,) = recorded.traces(folder)
    return recorded.query(trace, "SELECT graph, key, bytes_settled FROM release WHERE bytes_settled > 0 ORDER BY from_seq")


def residual_by_executor(result: dict) -> list[tuple[int, int, int]]:
    return [(event["graph"], event["id"], event["value"]) for event in result["events"] if event["kind"] == 0]


@pytest.mark.parametrize("ranks, options", [(1, ()), (2, ("--prefetch", "1", "--offload")), (3, ())])
def test_with_the_defect_exactly_the_residual_releases_are_listed(tmp_path, ranks, options):
    result = train(tmp_path / "out", "--ranks", ranks, *DEFECT, *options)
    known = residual_by_executor(result)
    assert {graph for graph, _, _ in known} == set(range(ranks))
    assert sorted(residual_in_trace(tmp_path / "out")) == sorted(known)
    (seen,) = recorded.report(tmp_path / "out")
    (finding,) = seen["findings"]
    assert finding["classes"] == ["D19"]
    listed = [(item["key"]["graph"], item["key"]["key"], item["bytes"]) for item in finding["items"]]
    assert sorted(listed) == sorted(known)
    assert seen["releases"]["total"] > len(known)  # the last weight of a unit has no name left at the next operator


@pytest.mark.parametrize("ranks", [1, 3])
def test_without_the_defect_nothing_is_listed_and_all_was_looked_at(tmp_path, ranks):
    result = train(tmp_path / "out", "--ranks", ranks)
    assert result["events"] == [] and residual_in_trace(tmp_path / "out") == []
    (seen,) = recorded.report(tmp_path / "out")
    assert seen["findings"] == []
    final = 2 * 2 * 2 * PARAMETERS * ranks  # steps, micro-batches, forward and backward
    assert seen["releases"]["total"] == final
    assert [release["verdict"] for release in recorded.releases(tmp_path / "out")] == ["freed"] * final


def test_releases_of_persistent_parameters_are_not_accused(tmp_path):
    result = train(tmp_path / "out", "--ranks", 2, *DEFECT, "--persistent-below", 10**6)
    assert result["events"] == []
    (seen,) = recorded.report(tmp_path / "out")
    assert seen["findings"] == []
    verdicts = [release["verdict"] for release in recorded.releases(tmp_path / "out")]
    assert verdicts == ["persistent"] * (2 * 2 * 2 * PARAMETERS * 2)
