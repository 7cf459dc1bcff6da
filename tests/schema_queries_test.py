"""Queries of docs/schema.md, pasted as by a user, have the results of `report --json`."""

from __future__ import annotations

import re
import sqlite3

import pytest
import recorded

PAGE = (recorded.ROOT / "docs" / "schema.md").read_text()
QUERIES = {title: sql for title, sql in re.findall(r"^([A-Z][^\n]*[:?])\n```sql\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A trace with releases that free nothing, and its report."""
    folder = tmp_path_factory.mktemp("queries")
    recorded.record(folder, recorded.SAMPLE, detail="full", flags=recorded.SAMPLE_OPERATORS)
    (trace,) = recorded.traces(folder)
    (report,) = recorded.report(trace)
    return trace, report


def rows(trace, title):
    (query,) = [sql for name, sql in QUERIES.items() if name.startswith(title)]
    database = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    return [dict(row) for row in database.execute(query)]


def test_there_are_ten_queries_and_more():
    assert len(QUERIES) >= 10 and PAGE.count("```sql") == len(QUERIES)


def test_the_peak(run):
    trace, report = run
    (peak,) = rows(trace, "The peak of allocated memory")
    assert (peak["bytes"], peak["seq"], peak["ns"]) == (report["peak"]["bytes"], *report["peak"]["at"].values())


def test_the_peak_from_the_pyramid(run):
    trace, report = run
    found = {row["device"]: (row["highest"], row["highest_seq"]) for row in rows(trace, "The same from the pyramid")}
    assert found == {device["device"]: (device["bytes"], device["at"]["seq"]) for device in report["devices"]}


def test_the_phase_and_the_step_of_the_peak(run):
    trace, report = run
    found = {row["kind"]: row for row in rows(trace, "The phase and the step")}
    assert found["phase"]["name"] == report["peak"]["phase"]
    assert found["step"]["value"] == report["peak"]["step"]


def test_the_peak_of_each_step(run):
    trace, report = run
    found = {row["step"]: row["peak_bytes"] for row in rows(trace, "The peak of each step") if row["device"] == "cpu"}
    assert found == {step["step"]: step["peak_bytes"] for step in report["steps"]}


def test_what_was_alive_at_the_peak(run):
    trace, report = run
    found = rows(trace, "What was alive at the peak")
    sizes = sorted((size for (size,) in recorded.query(
        trace, f"SELECT bytes FROM block WHERE from_seq <= {report['peak']['at']['seq']}"
               f" AND (to_seq IS NULL OR to_seq > {report['peak']['at']['seq']})")), reverse=True)
    assert [row["bytes"] for row in found] == sizes[:20] and sum(sizes) == report["peak"]["bytes"]


def test_the_lines_that_allocated_what_was_alive_at_the_peak(run):
    trace, report = run
    found = rows(trace, "The lines that allocated")
    assert sum(row["bytes"] for row in found) == report["peak"]["bytes"]
    assert sum(row["blocks"] for row in found) == sum(group["blocks"] for group in report["peak"]["by_site"])


def test_releases_that_freed_nothing(run):
    trace, report = run
    found = rows(trace, "Final releases that freed nothing")
    assert len(found) == report["facts"]["residual_releases"] == report["releases"]["residual"] > 0
    of_one = report["findings"][0]["bytes_each"]
    assert {row["bytes_settled"] for row in found} == {of_one}


def test_who_held_them(run):
    trace, report = run
    found = {(row["name"], row["line"], row["assignment"]) for row in rows(trace, "Who held them")}
    said = {(name["name"], name["line"], name["assignment"])
            for finding in report["findings"] for path in finding["holders"]["paths"] for name in path["names"]}
    assert said and said <= found


def test_counts_that_are_not_explained(run):
    trace, report = run
    assert sum(row["unexplained"] for row in rows(trace, "Counts that the holders")) == report["facts"]["unexplained"]


def test_storages_that_outlived_their_step(run):
    trace, report = run
    found: dict[int, int] = {}
    for row in rows(trace, "Storages that were born in one step"):
        found[row["step"]] = found.get(row["step"], 0) + 1
    said = {each["step"]: each["storages"] for each in report["survivors"] if each["storages"]}
    assert found == said


def test_how_much_was_kept(run):
    trace, report = run
    found = {row["kept"]: row["steps"] for row in rows(trace, "How much of the run was kept")}
    assert {why: steps for why, steps in found.items() if steps} == {
        fact["why"]: fact["steps"] for fact in report["facts"]["kept"]}


def test_whether_the_trace_is_whole(run):
    trace, report = run
    (found,) = rows(trace, "Is the trace whole?")
    assert (found["state"], found["lost"]) == (report["facts"]["state"], report["facts"]["lost"])
