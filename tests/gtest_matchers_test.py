"""The GoogleTest matchers of dcmt/testing.h, in a libtorch program without Python."""

from __future__ import annotations

import os
import pathlib
import subprocess

import recorded

PROGRAM = recorded.BUILD / "bin" / "libtorch_memory_tests"
FAIL = ("FailsPeak", "FailsLeaves", "FailsOfAnOpenScope")


def run(*command: object, **environment: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(recorded.TOOL.parent), os.environ["PATH"]])
    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=180, env=recorded.environment(PATH=path, **environment)
    )  # fmt: skip


def check(output: str) -> None:
    for name in ("PeaksAndLeaves", "FreesWhatWasThereBefore", "ScopesInOneAnother", "SmallBlocksAndOtherThreads", "BackwardGivesBack"):
        assert f"[       OK ] Memory.{name}" in output, output
    for name in FAIL:
        assert f"[  FAILED  ] Memory.{name}" in output, output
    assert "Expected: has a peak of at most 24576 B\n  Actual: a scope with a peak of 25600 B that left 0 B (" in output, output
    assert "which is 1024 B more" in output
    assert "Expected: leaves at most 0 B" in output and "left 102400 B (" in output and "which is 102400 B more" in output
    assert "a scope without figures: a scope inside of it has not ended" in output


def test_a_program_as_it_is(tmp_path):
    result = run(PROGRAM, TMPDIR=str(tmp_path))
    assert result.returncode == 1, result.stderr
    check(result.stdout)
    assert not list(tmp_path.iterdir())


def test_a_program_that_is_recorded(tmp_path):
    result = run(recorded.TOOL, "run", "-o", tmp_path / "out", "--", PROGRAM)
    assert result.returncode == 1
    check(result.stdout)
    assert pathlib.Path(recorded.traces(tmp_path / "out")[0]).exists()


def test_without_dc_memtrace():
    result = subprocess.run([PROGRAM, "--gtest_filter=*PeaksAndLeaves"], capture_output=True, text=True, env={**os.environ, "PATH": "/usr/bin"})
    assert result.returncode == 1 and "a scope without figures: dc-memtrace is not on PATH" in result.stdout
