"""Prints the totals of a test run as 'N passed, N failed[, N skipped]'; exits with 1 if any failed or none ran.

Reads ctest's JUnit report. A ctest test named pytest.NAME stands for the tests in PYTEST_FOLDER/NAME.xml.
"""

import argparse
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

PYTEST = "pytest."


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def count(ctest_report: pathlib.Path, pytest_folder: pathlib.Path) -> collections.Counter:
    totals: collections.Counter = collections.Counter()
    for case in ElementTree.parse(ctest_report).iter("testcase"):
        whole = outcome(case)
        name = case.get("name", "")
        report = pytest_folder / f"{name.removeprefix(PYTEST)}.xml"
        if not name.startswith(PYTEST) or not report.exists():
            totals[whole] += 1
            continue
        inner = collections.Counter(outcome(test) for test in ElementTree.parse(report).iter("testcase"))
        if whole == "failed" and not inner["failed"]:
            inner["failed"] += 1  # it failed outside of its tests: by a time-out, or without tests
        totals += inner
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ctest_report", type=pathlib.Path)
    parser.add_argument("pytest_folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.ctest_report.exists():
        print("ctest wrote no report", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    totals = count(arguments.ctest_report, arguments.pytest_folder)
    skipped = f", {totals['skipped']} skipped" if totals["skipped"] else ""
    print(f"{totals['passed']} passed, {totals['failed']} failed{skipped}")
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
