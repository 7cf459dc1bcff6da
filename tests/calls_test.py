"""A program without steps: what its calls leave is a finding, counted by calls."""

from __future__ import annotations

import recorded

CALLS = 40
PROGRAM = """
import sys
import dc_memtrace, torch

model = torch.nn.Sequential(torch.nn.Linear(100, 400), torch.nn.ReLU(), torch.nn.Linear(400, 200))
results = []


def serve():
    return model(torch.randn(200, 100))


def main(kind):
    with torch.inference_mode(kind == "without graphs"):
        for call in range(40):
            results.append(serve())
    if kind == "with a backward":
        sum(each.sum() for each in results).backward()
    dc_memtrace.find_holders(timeout=60)


main(sys.argv[1])
"""
# A call keeps its input, the output of the ReLU and its result, of 4 bytes each.
PER_CALL = 4 * 200 * (100 + 400 + 200)


def findings(out, kind):
    recorded.record(out, "-c", PROGRAM, kind)
    return recorded.report(*recorded.traces(out))[0]["findings"]


def test_graphs_that_nobody_needs(tmp_path):
    (finding,) = findings(tmp_path / "out", "with graphs")
    growth = finding["growth"]
    assert growth["by_calls"] and growth["holder"] == "main.results"
    assert growth["steps"] == CALLS and growth["per_step_bytes"] == PER_CALL


def test_results_that_are_collected(tmp_path):
    (finding,) = findings(tmp_path / "out", "without graphs")
    assert finding["growth"]["holder"] == "main.results" and finding["growth"]["by_calls"]


def test_what_a_backward_at_the_end_needs(tmp_path):
    """The calls have ended, as when a data set is made."""
    assert findings(tmp_path / "out", "with a backward") == []
