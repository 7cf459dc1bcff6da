"""Two dozen ways to access what a release left, each found by fence and by poison; accesses before the release are none."""

from __future__ import annotations

import re

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "touch_kinds.py"
STEPS = 2
LINES = {
    match[1]: number
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if (match := re.search(r"  # ([a-z_ ]+)$", line))
}
WAYS = re.findall(r'^    "(\w+)": \(', PROGRAM.read_text(), re.M)


def prove(trace, folder, *command: object, by: str = "fence"):
    return recorded.tool("prove", trace, "--by", by, "-o", folder, *recorded.SAMPLE_OPERATORS, "--",
                         recorded.sys.executable, PROGRAM, *command, timeout=900)


@pytest.fixture(scope="module")
def correct(tmp_path_factory):
    """The folder of a recording of the correct program, and what it prints."""
    folder = tmp_path_factory.mktemp("correct") / "out"
    return folder, recorded.record(folder, PROGRAM, flags=recorded.SAMPLE_OPERATORS).stdout


def test_accesses_before_a_release_are_no_touches(correct, tmp_path):
    folder, printed = correct
    run = prove(folder, tmp_path / "out")
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"proved: nobody touched it in {(len(WAYS) + 2) * STEPS} releases, {STEPS} steps (" in run.stdout
    assert run.stdout.startswith(printed)


def test_each_way_is_found_with_its_line(correct, tmp_path):
    folder, printed = correct
    run = prove(folder, tmp_path / "out", "--touch")
    assert run.returncode == 1, run.stdout + run.stderr
    assert run.stdout.startswith(printed)
    (trace,) = recorded.traces(tmp_path / "out")
    found = {}
    (seen,) = recorded.report(tmp_path / "out")
    for finding in seen["findings"]:
        for touch in (finding["proof"] or {"touches": []})["touches"]:
            ((key,),) = recorded.query(trace, "SELECT key FROM mark WHERE id = ?", touch["mark"])
            lines = [frame["line"] for frame in touch["by"]["stack"] if frame["file"] == str(PROGRAM)]
            found.setdefault(key, []).append(lines)
    names = dict(enumerate(WAYS)) | {len(WAYS) + 1: "saved by autograd"}
    for key, name in names.items():
        assert len(found.get(key, [])) == STEPS, name
        assert all(LINES[name] in lines for lines in found[key]), (name, found[key])
    assert found.keys() == names.keys()


@recorded.for_soak
@pytest.mark.parametrize("way", WAYS)
def test_each_way_alone(way, correct, tmp_path):
    folder = tmp_path / "out"
    recorded.record(folder, PROGRAM, way, flags=recorded.SAMPLE_OPERATORS)
    for by in ("fence", "poison"):
        silent = prove(folder, tmp_path / f"{by}-silent", way, by=by)
        assert silent.returncode == 0, silent.stdout + silent.stderr
        touched = prove(folder, tmp_path / by, way, "--touch", by=by)
        assert touched.returncode == 1, touched.stdout + touched.stderr
