"""What variables of main() hold is named although the loop is over in less than a second and they are gone with it."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "two_lists.py"
LISTS = {"main: probe.seen", "main: losses"}
OUTPUT = 512 * 256 * 4  # bytes of an output of a layer
SMALL = 512 * 1024  # what storages that are not followed may add


def report_of(folder, *numbers: str) -> dict:
    recorded.record(folder, PROGRAM, *numbers)
    return recorded.report(recorded.traces(folder)[0])[0]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return report_of(tmp_path_factory.mktemp("short") / "out")


def of(report: dict) -> dict[str, dict]:
    assert {finding["rule"] for finding in report["findings"]} <= {"grows"}
    return {finding["growth"]["holder"]: finding for finding in report["findings"]}


def test_both_lists_are_named(report):
    findings = of(report)
    assert set(findings) == LISTS
    for finding in findings.values():
        growth = finding["growth"]
        assert growth["type"] == "list" and growth["place"].startswith("two_lists.py:")
        assert 0 < growth["alone_bytes"] < finding["bytes"]
        assert growth["seen"] * 2 > growth["storages"], "the latest reading was long before the end"
    (shared,) = report["devices"][0]["shared"]
    assert shared["bytes"] > 0


@pytest.mark.parametrize(
    "numbers, rest", [(["hook"], "main: losses"), (["loss"], "main: probe.seen"), (["hook", "loss"], None)]
)
def test_the_peak_without_them_is_what_a_run_without_them_measures(report, tmp_path, numbers, rest):
    """What a round keeps counts as needed until the round ends: an output in training and one in validation."""
    fixed = report_of(tmp_path / "out", *numbers)
    assert set(of(fixed)) == ({rest} if rest else set())
    findings = of(report)
    gone = sorted(LISTS - {rest})
    if rest:
        predicted = findings[gone[0]]["predicted_peak_bytes"]
    else:
        predicted = report["devices"][0]["predicted_bytes"]
    assert -SMALL <= predicted - fixed["peak"]["bytes"] <= 2 * OUTPUT + SMALL


def test_what_may_be_held_elsewhere_too_does_not_go_with_the_list(tmp_path):
    """The variables do not lead to the other list: the counts of references say that there is something."""
    findings = of(report_of(tmp_path / "out", "twice", "loss"))
    assert findings["main: probe.seen"]["growth"]["alone_bytes"] == 0
