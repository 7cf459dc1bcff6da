"""The small programs in scripts/lib: totals of a test run, comparison of peaks, missing packages."""

from __future__ import annotations

import json
import pathlib
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
        ([("A.one", "run"), ("A.two", "fail"), ("A.three", "notrun")], (1, "1 passed, 1 failed, 1 skipped")),
        ([], (1, "0 passed, 0 failed")),
    ],
)
def test_totals_of_ctest(tmp_path, cases, expected):
    assert run("count_tests.py", ctest_report(tmp_path, *cases), tmp_path) == expected


def test_a_pytest_file_counts_as_its_tests(tmp_path):
    (tmp_path / "inner_test.xml").write_text(
        '<testsuites><testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase>'
        '<testcase name="c"><error/></testcase></testsuite></testsuites>'
    )
    report = ctest_report(tmp_path, ("A.one", "run"), ("pytest.inner_test", "fail"))
    assert run("count_tests.py", report, tmp_path) == (1, "2 passed, 1 failed, 1 skipped")


def test_a_pytest_file_that_dies_after_its_tests_has_failed(tmp_path):
    (tmp_path / "inner_test.xml").write_text('<testsuite><testcase name="a"/></testsuite>')
    report = ctest_report(tmp_path, ("pytest.inner_test", "fail"))
    assert run("count_tests.py", report, tmp_path) == (1, "1 passed, 1 failed")


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


def test_the_interval_of_more_values_than_a_float_can_count():
    sys.path.insert(0, str(LIB.parents[1] / "tests" / "bench"))
    from statistics_of_pairs import median_interval

    interval = median_interval([float(value) for value in range(1101)])
    assert (interval["median"], interval["low"], interval["high"]) == (550, 550 - 33, 550 + 33)
    assert 0.95 <= interval["coverage"] < 0.96
