"""What dc-memtrace finds in the executor's training is what the executor itself noticed, release by release."""

from __future__ import annotations

import collections
import itertools
import json
import os

import pytest
import recorded

TRAIN = ("-m", "dcmt_zero3.train", "--steps", "2", "--layers", "1")
PARAMETERS = 2 + 12 + 4  # of the embedding, the block and the head
BLOCK = range(2, 14)
PARAMETERS_OF_BLOCK = len(BLOCK)
PASSES = 2 * 2 * 2  # steps, micro-batches, forward and backward
# Of two layer norms weight and bias, of four linear layers the weight.
READ_IN_BACKWARD = (2, 3, 4, 5, 6, 8, 10, 12)
READ_IN_BACKWARD_OF_ALL = (*READ_IN_BACKWARD, 14, 15, 16)  # and of the head
DEFECT = ("--switch", "release_clears_tensor_only")


def environment() -> dict[str, str]:
    env = recorded.environment(OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join([str(recorded.ROOT / "executor" / "python"), env["PYTHONPATH"]])
    return env


def train(folder, *options: object, detail: str = "lifetimes") -> dict:
    """The program's own result."""
    return json.loads(recorded.record(folder, *TRAIN, *options, detail=detail, env=environment()).stdout)


def residual_in_trace(trace) -> list[tuple[int, int, int]]:
    """(graph, parameter, bytes) of every final release whose bytes were still there at the next operator, in order."""
    rows = "SELECT graph, key, bytes_settled FROM release WHERE bytes_settled > 0 ORDER BY from_seq"
    return recorded.query(trace, rows)


def trace_in(folder):
    (trace,) = recorded.traces(folder)
    return trace


def residual_by_executor(result: dict) -> list[tuple[int, int, int]]:
    return [(event["graph"], event["id"], event["value"]) for event in result["events"] if event["kind"] == 0]


def findings(folder) -> list[tuple[str, list[tuple[int, int]]]]:
    """The complete list: of each finding its classes, and the sorted keys of its items."""
    (seen,) = recorded.report(folder)
    found = []
    for finding in seen["findings"]:
        keys = sorted((item["key"]["graph"], item["key"]["key"]) for item in finding["items"])
        found.append((" ".join(finding["classes"]), keys))
    return found


def verdicts(folder) -> collections.Counter:
    return collections.Counter(release["verdict"] for release in recorded.releases(folder))


def keys(ids, ranks: int, times: int) -> list[tuple[int, int]]:
    return sorted((graph, id) for graph in range(ranks) for id in ids for _ in range(times))


def test_recording_changes_no_number(tmp_path):
    options = ("--ranks", 3, *DEFECT, "--prefetch", 1, "--offload", "--bf16")
    alone = recorded.python(*TRAIN, *options, env=environment())
    for detail in recorded.some(("full", "lifetimes"), 2):
        assert train(tmp_path / detail, *options, detail=detail) == json.loads(alone.stdout)


@pytest.mark.parametrize("ranks, options", recorded.some([(2, ("--prefetch", "1", "--offload")), (1, ()), (3, ())], 3))
def test_with_the_defect_exactly_the_residual_releases_are_listed(tmp_path, ranks, options):
    result = train(tmp_path / "out", "--ranks", ranks, *DEFECT, *options)
    known = residual_by_executor(result)
    assert {graph for graph, _, _ in known} == set(range(ranks))
    assert sorted(residual_in_trace(trace_in(tmp_path / "out"))) == sorted(known)
    assert findings(tmp_path / "out") == [("D19", sorted((graph, id) for graph, id, _ in known))]
    # The last weight of a unit has no name left at the next operator.
    assert verdicts(tmp_path / "out")["freed"] == 3 * PASSES * ranks
    assert len(known) == (PARAMETERS - 3) * PASSES * ranks


@pytest.mark.parametrize("ranks", recorded.some([3, 1], 2))
def test_without_the_defect_nothing_is_listed_and_all_was_inspected(tmp_path, ranks):
    result = train(tmp_path / "out", "--ranks", ranks)
    assert result["events"] == [] and residual_in_trace(trace_in(tmp_path / "out")) == []
    assert findings(tmp_path / "out") == []
    assert verdicts(tmp_path / "out") == {"freed": PARAMETERS * PASSES * ranks}


def test_releases_of_persistent_parameters_are_not_accused(tmp_path):
    result = train(tmp_path / "out", "--ranks", 2, *DEFECT, "--persistent-below", 10**6)
    assert result["events"] == []
    assert findings(tmp_path / "out") == []
    assert verdicts(tmp_path / "out") == {"persistent": PARAMETERS * PASSES * 2}


def test_a_wrapper_that_keeps_names_makes_every_release_residual(tmp_path):
    result = train(tmp_path / "out", "--ranks", 2, *DEFECT, "--switch", "wrapper_keeps_aliases")
    assert findings(tmp_path / "out") == [("D19", keys(range(PARAMETERS), ranks=2, times=PASSES))]
    assert sorted(residual_in_trace(trace_in(tmp_path / "out"))) == sorted(residual_by_executor(result))


def test_a_wrapper_that_keeps_names_does_no_harm_to_a_release_of_the_storage(tmp_path):
    train(tmp_path / "out", "--ranks", 2, "--switch", "wrapper_keeps_aliases")
    assert findings(tmp_path / "out") == []
    assert verdicts(tmp_path / "out") == {"freed": PARAMETERS * PASSES * 2}


@pytest.mark.parametrize("defect", recorded.some([True, False], 2))
def test_a_cast_cache_keeps_the_copies_that_no_release_reaches(tmp_path, defect):
    switch = ("--switch", "cast_cache_keeps_gathered") * defect
    result = train(tmp_path / "out", "--ranks", 2, "--bf16", *switch)
    assert sorted(residual_in_trace(trace_in(tmp_path / "out"))) == sorted(residual_by_executor(result))
    every = keys(range(PARAMETERS), ranks=2, times=PASSES)
    assert findings(tmp_path / "out") == ([("D19", every)] if defect else [])
    assert verdicts(tmp_path / "out").total() == len(every)


@pytest.mark.parametrize("defect", recorded.some([True, False], 2))
def test_an_eager_gather_that_nobody_owns_is_never_released(tmp_path, defect):
    switch = ("--switch", "eager_gather_without_owner") * defect
    train(tmp_path / "out", "--ranks", 2, "--skipped", 1, *switch)
    skipped_passes = 2 * 2 * 2 * PARAMETERS_OF_BLOCK  # gathered once for forward and backward; ranks, steps, micros
    inside = (PARAMETERS - PARAMETERS_OF_BLOCK) * PASSES * 2
    assert verdicts(tmp_path / "out") == {"freed": inside + (0 if defect else skipped_passes)}
    found = findings(tmp_path / "out")
    assert [classes for classes, _ in found] == ["D16"] * defect
    for _, of in found:
        assert set(of) == set(keys(BLOCK, ranks=2, times=1))


@pytest.mark.parametrize("defect", recorded.some([True, False], 2))
def test_a_release_before_the_backward_is_read_after(tmp_path, defect):
    """With the tensor cleared only, so that the data is there to be read."""
    switch = ("--switch", "early_release_before_backward") * defect
    train(tmp_path / "out", "--ranks", 2, "--skipped", 1, *DEFECT, *switch)
    found = [of for classes, of in findings(tmp_path / "out") if "D24" in classes]
    assert sorted(itertools.chain(*found)) == (keys(READ_IN_BACKWARD, ranks=2, times=4) if defect else [])


def test_names_that_a_graph_never_deletes_hold_every_weight_and_the_predicted_peak_is_that_of_the_fix(tmp_path):
    """The graphs as an interpreter that deletes nothing runs them; the fix is a release of the storage."""
    options = ("--ranks", 2, "--compiled", "--switch", "wrapper_keeps_aliases")
    result = train(tmp_path / "defect", *options, *DEFECT)
    fixed = train(tmp_path / "fixed", *options)
    assert {**result, "events": [], "peaks": fixed["peaks"]} == fixed
    used = [*range(PARAMETERS), *READ_IN_BACKWARD_OF_ALL]
    assert findings(tmp_path / "defect") == [("D19", keys(used, ranks=2, times=4))]
    assert findings(tmp_path / "fixed") == []
    assert verdicts(tmp_path / "fixed") == {"freed": len(used) * 2 * 4}
    # The executor settles at its own next operator, which is later.
    missing = collections.Counter(residual_in_trace(trace_in(tmp_path / "defect")))
    missing.subtract(residual_by_executor(result))
    assert {id for (_, id, _), times in missing.items() if times} == {16} and min(missing.values()) == 0
    (seen,) = recorded.report(tmp_path / "defect")
    assert seen["peak"]["predicted_bytes"] == recorded.peak_of(trace_in(tmp_path / "fixed"))


@recorded.for_soak
@pytest.mark.parametrize("defect", recorded.some([True, False], 2))
def test_a_schema_that_hides_an_alias_spoils_what_is_trained_and_is_no_matter_of_lifetimes(tmp_path, defect):
    switch = ("--switch", "undeclared_alias") * defect
    options = ("--ranks", 2, "--compiled", "--reuse-buffers")
    result = train(tmp_path / "out", *options, *switch)
    right = json.loads(recorded.python(*TRAIN, "--ranks", 2, env=environment()).stdout)
    assert [seen == wanted for seen, wanted in zip(result["norms"], right["norms"], strict=True)] == [not defect] * 2
    assert findings(tmp_path / "out") == []
    assert verdicts(tmp_path / "out") == {"freed": (PARAMETERS + len(READ_IN_BACKWARD_OF_ALL)) * 2 * 4}


@recorded.for_soak
def test_graphs_that_delete_names_after_their_last_use_need_no_fix(tmp_path):
    train(tmp_path / "out", "--ranks", 2, "--compiled", *DEFECT)
    assert findings(tmp_path / "out") == []
    assert verdicts(tmp_path / "out") == {"freed": (PARAMETERS + len(READ_IN_BACKWARD_OF_ALL)) * 2 * 4}
