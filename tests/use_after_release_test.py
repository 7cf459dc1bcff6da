"""A weight released between forward and backward: who reads it, who released it, who gathered it."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "use_after_release.py"
KEY = 3


def record(folder, *switches: str):
    return recorded.record(folder, PROGRAM, *switches, flags=recorded.SAMPLE_OPERATORS)


def use_after_release(folder) -> list[dict]:
    (seen,) = recorded.report(folder)
    return [finding for finding in seen["findings"] if "D24" in finding["classes"]]


@pytest.mark.parametrize("switch", [[], ["--keep-data"]], ids=["data gone", "data kept"])
def test_released_too_early(tmp_path, switch):
    record(tmp_path / "out", *switch)
    (finding,) = use_after_release(tmp_path / "out")
    item = finding["items"][0]
    assert item["key"]["key"] == KEY
    assert item["reads"][0]["name"] == "aten::native_layer_norm_backward"
    assert item["release"]["name"] == "zero3_sample::release_param"
    assert item["gather"]["name"] == "zero3_sample::allgather_param"

    def functions(by):
        return [frame["function"] for frame in by["stack"]]

    assert "release" in functions(item["release"]["by"])
    assert "gather" in functions(item["gather"]["by"])
    assert "step" in functions(item["reads"][0]["by"])


def test_a_backward_that_stops_at_a_view_is_found_too(tmp_path):
    run = record(tmp_path / "out", "--linear")
    assert "out of bounds" in run.stdout
    (finding,) = use_after_release(tmp_path / "out")
    assert finding["items"][0]["reads"][0]["name"] in ("aten::t", "aten::transpose", "aten::as_strided")
    assert finding["items"][0]["reads"][0]["bytes"] == 0
    record(tmp_path / "late", "--linear", "--late")
    assert use_after_release(tmp_path / "late") == []


def test_released_after_the_last_use(tmp_path):
    record(tmp_path / "out", "--late")
    assert use_after_release(tmp_path / "out") == []
    (seen,) = recorded.report(tmp_path / "out")
    assert seen["releases"]["total"] == 3
