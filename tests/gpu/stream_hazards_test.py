"""Blocks that are handed out again while a stream still uses them: each planted one is found, with its places and what
is missing, and none in the twins."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "stream_hazards.py"
HEALTHY = recorded.ROOT / "tests" / "healthy" / "alone" / "cuda_streams.py"
OF_THE_NEXT_USE = {"copy_into_a_buffer_that_was_in_use"}


def run(folder, program, *arguments: object) -> tuple[str, list[dict]]:
    done = recorded.record(folder, program, *arguments, flags=("--streams",), timeout=400)
    (report,) = recorded.report(folder)
    return done.stdout, [finding for finding in report["findings"] if finding["rule"] == "reused_in_flight"]


def function_of(event: dict) -> str:
    """The case that an event belongs to."""
    functions = [frame["function"] for frame in event["stack"] if frame["file"].endswith(PROGRAM.name)]
    return functions[functions.index("main") - 1]


def test_each_planted_hazard_is_found(tmp_path):
    printed, findings = run(tmp_path / "out", PROGRAM)
    cases = json.loads(printed.splitlines()[-1])["cases"]
    assert len(cases) == 12
    found = {}
    for finding in findings:
        case = function_of(finding["in_flight"]["freed"])
        assert case not in found, f"twice: {case}"
        found[case] = finding
    assert sorted(found) == sorted(cases)
    for case, finding in found.items():
        flight = finding["in_flight"]
        assert finding["classes"] == ["D25"] and finding["bytes"] == 32 << 20
        assert flight["missing"] == ("wait_stream" if case in OF_THE_NEXT_USE else "record_stream"), case
        assert flight["times"] == flight["blocks"] == 1, case
        assert flight["used"]["stream"] != flight["used_again"]["stream"], case
        assert flight["allocated"]["stream"] == flight["allocated_again"]["stream"], case
        events = [flight[key]["at"]["seq"] for key in ("allocated", "used", "freed", "allocated_again", "used_again")]
        assert events == sorted(events), case
        for event in ("allocated", "freed", "allocated_again", "used_again"):
            assert function_of(flight[event]) == case, (case, event)
        if case != "backward_on_a_side_stream":  # a thread of autograd has no Python
            assert function_of(flight["used"]) == case, case
    text = recorded.tool("report", tmp_path / "out").stdout
    assert text.count("REUSED IN FLIGHT  (D25)") == 12


def test_the_twins_have_none(tmp_path):
    printed, findings = run(tmp_path / "out", PROGRAM, "--fixed")
    assert len(json.loads(printed.splitlines()[-1])["cases"]) == 17
    assert findings == []
    (trace,) = recorded.traces(tmp_path / "out")
    kinds = dict(recorded.query(trace, "SELECT kind, count(*) FROM stream_call GROUP BY kind"))
    assert {"kernel", "copy", "record", "wait", "event done", "stream done", "all done", "capture begins",
            "capture ends"} <= set(kinds)


def test_two_streams_that_wait_for_each_other_are_healthy(tmp_path):
    printed, findings = run(tmp_path / "out", HEALTHY)
    assert findings == []
    assert printed == recorded.python(HEALTHY).stdout != ""


@pytest.mark.parametrize("model", ["gpt", "graph", "streams"])
def test_trainings_have_none(model, tmp_path):
    program = recorded.PROGRAMS / "cuda_training.py"
    printed, findings = run(tmp_path / "out", program, model, 4)
    assert findings == []
    plain = recorded.python(program, model, 4)
    assert json.loads(printed.splitlines()[-1])["losses"] == json.loads(plain.stdout.splitlines()[-1])["losses"]


def test_without_the_option_nothing_of_it_is_recorded(tmp_path):
    recorded.record(tmp_path / "out", PROGRAM, "no_record_stream", detail="full")
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.query(trace, "SELECT count(*) FROM stream_call") == [(0,)]
