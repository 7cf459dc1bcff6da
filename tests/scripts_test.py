"""The small programs in scripts/lib: totals of a test run, comparison of peaks, missing packages, the table of versions,
subjects of commits. And what scripts/release refuses, and what scripts/mutate compiles."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

LIB = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "lib"


def run(script: str, *arguments) -> tuple[int, str]:
    done = subprocess.run([sys.executable, LIB / script, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout.strip()


def ctest_report(folder: pathlib.Path, *cases: tuple[str, str]) -> pathlib.Path:
    elements = {"run": "", "fail": "<failure/>", "notrun": "<skipped/>"}
    lines = [f'<testcase name="{name}" status="{status}">{elements[status]}</testcase>' for name, status in cases]
    report = folder / "ctest.xml"
    report.write_text("<testsuite>" + "".join(lines) + "</testsuite>")
    return report


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ([("A.one", "run"), ("A.two", "run")], (0, "2 passed, 0 failed")),
        ([("A.one", "run"), ("A.two", "fail"), ("A.three", "notrun")], (1, "failed: A.two\n1 passed, 1 failed, 1 skipped")),
        ([], (1, "0 passed, 0 failed")),
    ],
)
def test_totals_of_ctest(tmp_path, cases, expected):
    assert run("count_tests.py", ctest_report(tmp_path, *cases), tmp_path) == expected


def test_a_pytest_file_counts_as_its_tests_and_says_what_failed(tmp_path):
    (tmp_path / "inner_test.xml").write_text(
        '<testsuites><testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase>'
        '<testcase classname="inner_test" name="c"><failure message="assert 1 == 2&#10; where 2 = f()">more</failure></testcase>'
        "</testsuite></testsuites>"
    )
    report = ctest_report(tmp_path, ("A.one", "run"), ("pytest.inner_test", "fail"))
    assert run("count_tests.py", report, tmp_path) == (
        1,
        "failed: inner_test c: assert 1 == 2 where 2 = f()\n2 passed, 1 failed, 1 skipped",
    )


def test_a_pytest_file_that_dies_after_its_tests_has_failed(tmp_path):
    (tmp_path / "inner_test.xml").write_text('<testsuite><testcase name="a"/></testsuite>')
    report = ctest_report(tmp_path, ("pytest.inner_test", "fail"))
    assert run("count_tests.py", report, tmp_path) == (1, "failed: pytest.inner_test\n1 passed, 1 failed")


def test_no_report_is_a_failure(tmp_path):
    assert run("count_tests.py", tmp_path / "none.xml", tmp_path) == (1, "0 passed, 1 failed")


def report_json(path: pathlib.Path, measured: int, predicted: int) -> pathlib.Path:
    path.write_text(json.dumps({"traces": [{"peak": {"bytes": measured, "predicted_bytes": predicted}}]}))
    return path


def test_equal_peaks(tmp_path):
    defect = report_json(tmp_path / "defect.json", 12_000, 2_000)
    code, line = run("compare_peaks.py", defect, report_json(tmp_path / "fixed.json", 2_000, 2_000))
    assert code == 0
    assert line.endswith("predicted without it 2,000 B · measured with the fix 2,000 B: equal")


def test_different_peaks(tmp_path):
    defect = report_json(tmp_path / "defect.json", 12_000, 2_000)
    code, line = run("compare_peaks.py", defect, report_json(tmp_path / "fixed.json", 1_992, 1_992))
    assert code == 1
    assert line.endswith("DIFFERENT by -8 B")


def test_missing_requirements(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text(f"# a comment\npytest=={pytest.__version__}\nno-such-package==1.0\npip==0.0.1\n")
    assert run("missing_requirements.py", file) == (0, "no-such-package==1.0")
    assert run("missing_requirements.py", "--exact", file) == (0, "no-such-package==1.0\npip==0.0.1")


@pytest.mark.parametrize(
    ("version", "changelog", "expected"),
    [
        ("0.2.1", "## [0.2.1]\nnews\n", "error: CMakeLists.txt has version 0.2.0, not 0.2.1"),
        ("0.2.0", "## [0.2.0]\n\n## [0.1.0]\nnews\n", "error: CHANGELOG.md says nothing of version 0.2.0"),
        ("0.2.0", "## [0.1.0]\nnews\n", "error: CHANGELOG.md says nothing of version 0.2.0"),
    ],
)
def test_a_release_is_refused_before_anything_is_built(tmp_path, version, changelog, expected):
    shutil.copytree(LIB.parent, tmp_path / "scripts")
    (tmp_path / "CMakeLists.txt").write_text("project(dc-memtrace VERSION 0.2.0 LANGUAGES C CXX)\n")
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    done = subprocess.run([tmp_path / "scripts" / "release", version], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", expected)
    assert not (tmp_path / "build" / "releases").exists()


def test_the_interval_of_more_values_than_a_float_can_count():
    sys.path.insert(0, str(LIB.parents[1] / "tests" / "bench"))
    from statistics_of_pairs import median_interval

    interval = median_interval([float(value) for value in range(1101)])
    assert (interval["median"], interval["low"], interval["high"]) == (550, 550 - 33, 550 + 33)
    assert 0.95 <= interval["coverage"] < 0.96


def kept(folder: pathlib.Path, name: str, outcome: str = "recorded", why: str = "", peak: int = 1000) -> None:
    """What scripts/matrix keeps of all jobs of one Python with torch."""
    facts = {"rank": -1, "peak": peak, "predicted": peak, "steps": 4, "releases": {"total": 0}, "findings": []}
    traces = [] if outcome == "refused" else [facts]
    matrix_jobs, _ = matrix()
    for job in matrix_jobs.JOBS:
        result = {"torch": name[5:].split("-")[0], "cpython": "3." + name[-2:], "outcome": outcome, "why": why, "traces": traces}
        matrix_jobs.keep(folder / name / f"{job}.json", result)


def matrix():
    sys.path.insert(0, str(LIB))
    import matrix_jobs
    import support_table

    return matrix_jobs, support_table


def table_of(folder: pathlib.Path) -> tuple[int, str]:
    page = folder / "support.md"
    page.write_text("# Kept\n<!-- scripts/matrix writes what follows -->\nreplaced\n")
    code = matrix()[1].write(folder / "results", page)
    text = page.read_text()
    assert text.startswith("# Kept\n") and "replaced" not in text
    return code, text


def versions_in(text: str) -> list[str]:
    return [" | ".join(line[2:].split(" | ")[:2]) for line in text.splitlines() if line.startswith("| 2")]


def test_rows_of_versions_that_were_not_recorded_here_stay(tmp_path):
    names = ("torch2.11-cp311", "torch2.11-cp312", "torch2.12-cp311")
    for name in names:
        kept(tmp_path / "results", name)
        for met in set(names) - {name}:
            wanted = {True: "partly", False: "refused"}[name.split("-")[0] == met.split("-")[0]]
            matrix()[0].keep(tmp_path / "results" / name / "met" / f"{met}.json", {"outcome": wanted, "why": ""})
    code, text = table_of(tmp_path)
    assert code == 0 and text.count("| built for |") == 2
    shutil.rmtree(tmp_path / "results" / "torch2.12-cp311")
    kept(tmp_path / "results", "torch2.11-cp312", outcome="partly", why="stacks are off")
    shutil.rmtree(tmp_path / "results" / "torch2.11-cp312" / "met")
    shutil.rmtree(tmp_path / "results" / "torch2.11-cp311" / "met")
    code = matrix()[1].write(tmp_path / "results", tmp_path / "support.md")
    again = (tmp_path / "support.md").read_text()
    assert code == 1 and versions_in(again) == ["2.11 | 3.11", "2.11 | 3.12", "2.12 | 3.11"]
    assert "| 2.11 | 3.12 | partly: stacks are off" in again
    assert [line for line in again.splitlines() if "torch2." in line and line.startswith("| ")] == [
        line for line in text.splitlines() if "torch2." in line and line.startswith("| ")]


def test_a_table_of_versions_that_agree(tmp_path):
    for name in ("torch2.11-cp311", "torch2.9-cp311", "torch2.15-cp313"):
        kept(tmp_path / "results", name)
    code, text = table_of(tmp_path)
    assert code == 0
    assert versions_in(text) == ["2.9 | 3.11", "2.11 | 3.11", "2.15 | 3.13"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"peak": 1001}, "**differs**: peak 1001, not 1000"),
        ({"outcome": "partly", "why": "stacks are off"}, "partly: stacks are off"),
        ({"outcome": "refused", "why": "built for torch 2.11"}, "refused: built for torch 2.11"),
    ],
)
def test_a_version_that_is_not_recorded_as_the_reference_is_named(tmp_path, made, said):
    kept(tmp_path / "results", "torch2.11-cp311")
    kept(tmp_path / "results", "torch2.15-cp311", **made)
    code, text = table_of(tmp_path)
    assert code == 1 and said in text


@pytest.mark.parametrize(
    ("met", "outcome", "code"),
    [
        ("torch2.12-cp311", "refused", 0),
        ("torch2.12-cp311", "recorded", 1),
        ("torch2.12-cp311", "failed", 1),
        ("torch2.11-cp312", "partly", 0),
        ("torch2.11-cp312", "recorded", 1),
    ],
)
def test_a_build_that_meets_another_version(tmp_path, met, outcome, code):
    for name in ("torch2.11-cp311", met):
        kept(tmp_path / "results", name)
    matrix()[0].keep(tmp_path / "results" / "torch2.11-cp311" / "met" / f"{met}.json", {"outcome": outcome, "why": "w"})
    found, text = table_of(tmp_path)
    assert (found, f"| torch2.11-cp311 | {outcome}" in text) == (code, True)


@pytest.mark.parametrize(
    ("message", "code"),
    [("x" * 72 + "\n\n" + "y" * 100, 0), ("# a comment\n" + "x" * 72, 0), ("x" * 73, 1), ("Größe: " + "ä" * 65, 0)],
)
def test_the_subject_of_a_commit_has_at_most_72_characters(tmp_path, message, code):
    (tmp_path / "message").write_text(message)
    done = subprocess.run([LIB / "subject_length.sh", tmp_path / "message"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (code, code)


def test_a_mutant_is_compiled_and_linked_instead_of_the_original(tmp_path):
    loader = importlib.machinery.SourceFileLoader("mutate", str(LIB.parent / "mutate"))
    mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    sys.modules["mutate"] = mutate  # its data classes look for it there
    loader.exec_module(mutate)
    programs = {program for _, program, _ in mutate.TARGETS}
    if not all((mutate.BUILD / "bin" / program).exists() for program in programs):
        pytest.skip("the preset dev is not built")
    builds = mutate.Builds()
    builds.with_headers = lambda _: []  # compiles
    for number, (pattern, program, _) in enumerate(mutate.TARGETS):
        file = min(path for path in mutate.ROOT.glob(pattern) if not path.stem.endswith("_test"))
        mutant = mutate.Mutant(str(file.relative_to(mutate.ROOT)), 1, "a comment", "", "// a comment")
        folder = tmp_path / str(number)
        folder.mkdir()
        *compiles, link = builds.commands(mutant, program, str(folder))
        for command in compiles:
            assert command[0].endswith("++") and f"-I{folder}" in command and command[command.index("-o") + 1] in link
            source = pathlib.Path(command[command.index("-c") + 1])
            assert file.suffix == ".h" or f'"{folder}/{mutant.file}"' in source.read_text()
