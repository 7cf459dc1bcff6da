"""The pytest plugin, with tests of memory as users write them (programs/memory_tests)."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest

import recorded
from attached import by_import

TESTS = recorded.PROGRAMS / "memory_tests"
RUNS = int(os.environ.get("DCMT_PLUGIN_RUNS", "1"))

# The messages of the tests that fail.
MESSAGES = {
    "test_fails_peak": [
        r"the test has 25\.0 MiB alive at once on cpu, 1\.0 MiB more than peak_memory allows \(24\.0 MiB\)",
        r"test_memory\.py:\d+ made",
    ],
    "test_fails_growth": [r"100\.0 KiB each time in test_memory\.CACHE, by CACHE\.append\(made\(100\)\) \(test_memory\.py:\d+\)"],
    "test_fails_fixture": [
        r"100\.0 KiB each time, made at test_memory\.py:\d+ made, held by fixture trainer: \.outputs",
        r" 4 B each time, made at test_memory\.py:\d+ Trainer\.loss, held by fixture trainer: \.losses",
        r"KiB each time of objects of Python, made at test_memory\.py:\d+, held by fixture trainer: \.rows",
    ],
    "test_fails_residual": [r"100\.0 KiB  test_memory\.scaled", r"101\.0 KiB  test_memory\.LOSSES\['last'\]\.grad_fn"],
    "test_fails_by_itself": [r"assert \d+ == 0"],
    "test_fails_list": [
        r"102,400 B that should be released are held by test_memory\.CACHE\[\d+\], test_fails_list \(test_memory\.py:\d+\): first",
    ],
    "test_fails_graph": [r"held by test_fails_graph \(test_memory\.py:\d+\): loss\.grad_fn .*PowBackward0\._saved_self"],
}


def run(folder: pathlib.Path, *arguments: object) -> subprocess.CompletedProcess:
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "dc_memtrace.pytest_plugin", f"--basetemp={folder}/base")
    return recorded.python(*command, *arguments, env=recorded.environment(PATH=by_import()["PATH"]))


def outcomes(path: pathlib.Path) -> dict[str, str]:
    """The failure message of each test; empty if it passed."""
    cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    return {case.get("name"): "".join(part.text or "" for part in case if part.tag in ("failure", "error")) for case in cases}


WRONG = """
import pytest

@pytest.mark.peak_memory("much")
def test_wrong_limit(): pass

@pytest.mark.no_growth(rounds=2)
def test_wrong_rounds(): pass

@pytest.mark.peak_memory(1)
def test_wrong_both(memory_ledger): pass

@pytest.mark.no_residual_references(largest=3)
def test_wrong_option(): pass
"""
WRONG_SAY = {
    "test_wrong_limit": "'much' is no size",
    "test_wrong_rounds": "needs 6 rounds or more",
    "test_wrong_both": "memory_ledger records the test",
    "test_wrong_option": "smallest=BYTES or allow",
}
SAMPLE = recorded.ROOT / "samples" / "pipeline_stage"
# Left out, because other tests read the memory in similar ways: only for scripts/soak.
LEFT_OUT = {
    "tests/programs/memory_tests/test_memory.py": ("test_a_cache_with_a_bound", "test_fails_by_itself", "test_fails_graph"),
    "samples/pipeline_stage/stage_memory_test.py": ("test_a_step_leaves_nothing_but_gradients",),
}
FEW_LEFT_OUT = (
    "test_what_fixtures_made_is_not_the_tests", "test_a_cache_with_a_bound", "test_fails_growth", "test_fails_fixture",
    "test_a_fixture_that_counts", "test_fails_residual",
    "test_fails_by_itself", "test_released", "test_fails_list", "test_fails_graph", "test_left_alone",
)  # fmt: skip
FEW_DESELECTED = [f"--deselect=tests/programs/memory_tests/test_memory.py::{name}" for name in FEW_LEFT_OUT if not recorded.ALL]
DESELECTED = [f"--deselect={file}::{name}" for file, names in LEFT_OUT.items() for name in names if not recorded.ALL]


@pytest.fixture(scope="module", params=range(RUNS))
def said(request, tmp_path_factory):
    """The result of each test in one run of pytest."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_wrong.py").write_text(WRONG)
    paths = [f"--rootdir={recorded.ROOT}", *DESELECTED, TESTS, SAMPLE, folder / "test_wrong.py"]
    result = run(folder, f"--junitxml={folder}/results.xml", *paths)
    assert result.returncode == 1, result.stdout + result.stderr
    return outcomes(folder / "results.xml")


def check(said: dict[str, str], left_out: tuple[str, ...] = ()) -> None:
    expected = {name: messages for name, messages in MESSAGES.items() if name not in left_out}
    for name, messages in expected.items():
        for message in messages:
            assert re.search(message, said[name]), (name, said[name])
    assert "102.0 KiB" not in said.get("test_fails_residual", "")  # allowed
    assert len(said) + len(left_out) == 15
    assert {name for name, text in said.items() if text} == set(expected), said


def test_as_people_write_them(said):
    sample = [name for name in said if name.endswith(("[plain]", "[checkpointed]"))]
    left_out = () if recorded.ALL else LEFT_OUT["tests/programs/memory_tests/test_memory.py"]
    check({name: text for name, text in said.items() if name not in WRONG_SAY and name not in sample}, left_out)


def test_marks_that_are_wrong(said):
    for name, line in WRONG_SAY.items():
        assert line in said[name]


def test_the_sample(said):
    """Its tests have the sizes that follow from the shape of the stage."""
    of_sample = {name: text for name, text in said.items() if name.endswith(("[plain]", "[checkpointed]"))}
    assert len(of_sample) == (6 if recorded.ALL else 4)
    assert set(of_sample.values()) == {""}


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="needs pytest-xdist")
@pytest.mark.parametrize("number", range(RUNS))
def test_distributed(tmp_path, number):
    """Each of two workers has its part of the tests: in a short run, of those of two marks and of the ledger."""
    result = run(tmp_path, f"--junitxml={tmp_path}/results.xml", "-n", 2, *FEW_DESELECTED, TESTS)
    assert result.returncode == 1, result.stdout + result.stderr
    check(outcomes(tmp_path / "results.xml"), () if recorded.ALL else FEW_LEFT_OUT)


def test_without_dc_memtrace(tmp_path):
    (tmp_path / "test_peak.py").write_text("import pytest\n@pytest.mark.peak_memory(1)\ndef test_it(): pass\ndef test_other(): pass\n")
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "dc_memtrace.pytest_plugin", tmp_path)
    result = recorded.python(*command, env=recorded.environment(PATH="/usr/bin"))
    assert "neither installed with this Python nor on PATH" in result.stdout
    assert "1 failed, 1 passed" in result.stdout


BASELINE = """
import os, pytest, torch

@pytest.mark.peak_memory
def test_peak():
    torch.ones(1 << 18)

@pytest.mark.peak_memory(tolerance="1 KiB")
def test_grown():
    torch.ones((1 << 18) + int(os.environ.get("MORE", "0")))

@pytest.mark.peak_memory
def test_new(): pass
"""


def test_peaks_in_a_file(tmp_path):
    (tmp_path / "test_peaks.py").write_text(BASELINE)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "dc_memtrace.pytest_plugin", f"--rootdir={tmp_path}")
    environment = recorded.environment(PATH=by_import()["PATH"])
    result = recorded.python(*command, "--update-memory-baseline", "--deselect=test_peaks.py::test_new", tmp_path, env=environment)
    assert result.returncode == 0 and f"2 peaks written to {tmp_path}/memory_baseline.json" in result.stdout, result.stdout
    peaks = json.loads((tmp_path / "memory_baseline.json").read_text())
    assert peaks == {f"test_peaks.py::{name}": {"cpu": 1 << 20} for name in ("test_peak", "test_grown")}
    result = recorded.python(*command, tmp_path, env={**environment, "MORE": "1024"})
    assert "2 failed, 1 passed" in result.stdout
    assert "memory_baseline.json has no peak of this test: run pytest --update-memory-baseline" in result.stdout
    assert "3.0 KiB more than memory_baseline.json has for it" in result.stdout, result.stdout
