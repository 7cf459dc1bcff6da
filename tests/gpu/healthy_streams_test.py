"""Weights gathered on a side stream, as they should be: no finding and the same numbers. With one residual planted, by the
same options, a finding."""

from __future__ import annotations

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.ROOT / "tests" / "healthy" / "alone" / "cuda_streams.py"


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_two_streams_that_wait_for_each_other_are_healthy(detail, tmp_path):
    done = recorded.record(tmp_path / "out", PROGRAM, detail=detail)
    (report,) = recorded.report(tmp_path / "out")
    assert report["findings"] == []
    assert done.stdout == recorded.python(PROGRAM).stdout != ""


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_a_planted_residual_is_found(detail, tmp_path):
    recorded.record(tmp_path / "out", PROGRAM, "--plant", detail=detail)
    (report,) = recorded.report(tmp_path / "out")
    assert [finding["rule"] for finding in report["findings"]] == ["residual"]
