"""Prints a line for each test that failed, with its message, and the totals of a test run as
'N passed, N failed[, N skipped]'; exits with 1 if any failed or none ran.

Reads ctest's JUnit report. A ctest test named pytest.NAME stands for the tests in PYTEST_FOLDER/NAME.xml.
"""

import argparse
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

PYTEST = "pytest."
MESSAGE = 400  # letters


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def results(ctest_report: pathlib.Path, pytest_folder: pathlib.Path) -> Iterator[tuple[str, ElementTree.Element]]:
    """Each test with its outcome."""
    for case in ElementTree.parse(ctest_report).iter("testcase"):
        name = case.get("name", "")
        report = pytest_folder / f"{name.removeprefix(PYTEST)}.xml"
        if not name.startswith(PYTEST) or not report.exists():
            yield outcome(case), case
            continue
        inner = [(outcome(test), test) for test in ElementTree.parse(report).iter("testcase")]
        yield from inner
        if outcome(case) == "failed" and all(result != "failed" for result, _ in inner):
            yield "failed", case  # outside of its tests: by a time-out, or without tests


def failure(test: ElementTree.Element) -> str:
    """The failed test's name and message in one line."""
    problem = next((found for kind in ("failure", "error") if (found := test.find(kind)) is not None), None)
    message = "" if problem is None else " ".join((problem.get("message") or problem.text or "").split())
    name = " ".join(filter(None, (test.get("classname"), test.get("name"))))
    return f"failed: {name}{': ' if message else ''}{message[:MESSAGE]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ctest_report", type=pathlib.Path)
    parser.add_argument("pytest_folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.ctest_report.exists():
        print("ctest wrote no report", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    totals: collections.Counter = collections.Counter()
    for result, test in results(arguments.ctest_report, arguments.pytest_folder):
        totals[result] += 1
        if result == "failed":
            print(failure(test))
    skipped = f", {totals['skipped']} skipped" if totals["skipped"] else ""
    print(f"{totals['passed']} passed, {totals['failed']} failed{skipped}")
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
