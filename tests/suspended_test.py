"""Holders that are suspended: generators and iterators of itertools. What is predicted without them is what a run without them
measures."""

from __future__ import annotations

import recorded

PROGRAM = recorded.PROGRAMS / "suspended.py"
STEPS, BLOCK, BATCH = 30, 100 * 200 * 4, 150 * 200 * 4


def report_of(folder, *numbers: str) -> dict:
    recorded.record(folder, PROGRAM, *numbers)
    return recorded.report(recorded.traces(folder)[0])[0]


def test_generators_and_a_tee_hold_alone_what_they_keep(tmp_path):
    report = report_of(tmp_path / "out")
    findings = {finding["growth"]["holder"]: finding for finding in report["findings"]}
    tee = "main: first (ahead)"  # the same block as that of `ahead`, which has returned nothing yet
    assert set(findings) == {"main: streams", tee}
    assert findings["main: streams"]["growth"]["type"] == "list"
    assert findings["main: streams"]["growth"]["alone_bytes"] >= (STEPS - 1) * BLOCK
    assert findings[tee]["growth"]["alone_bytes"] >= (STEPS - 2) * BATCH
    fixed = report_of(tmp_path / "fixed", "generators", "tee")
    assert fixed["findings"] == []
    predicted = report["devices"][0]["predicted_bytes"]
    assert fixed["peak"]["bytes"] <= predicted <= fixed["peak"]["bytes"] + BLOCK + BATCH
