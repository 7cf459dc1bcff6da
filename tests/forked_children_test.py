"""What the workers of a DataLoader do not share: copies of their parent's objects, and what they add, by name and bytes."""

from __future__ import annotations

import pathlib
import threading
import time

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "forked_readers.py"


def recorded_until(folder: pathlib.Path, kind: str, sql: str) -> pathlib.Path:
    """The trace of the program, which ends once a query on its trace has a row that is not zero."""
    stop = folder / "stop"
    running = threading.Thread(target=recorded.record, args=(folder / "out", PROGRAM, kind, stop))
    running.start()
    try:
        deadline = time.monotonic() + 150
        while running.is_alive() and time.monotonic() < deadline:
            if any(recorded.query(trace, sql)[0][0] for trace in recorded.begun(folder / "out")):
                break
            time.sleep(0.2)
    finally:
        stop.touch()
        running.join()
    (trace,) = recorded.traces(folder / "out")
    assert recorded.query(trace, sql)[0][0]
    return trace


def resident_of(trace: pathlib.Path) -> list[tuple[int, int]]:
    """The bytes that each child did not share at its first and at its last sample."""
    return recorded.query(trace, """SELECT (SELECT unshared FROM forked WHERE pid = f.pid ORDER BY id LIMIT 1),
        (SELECT unshared FROM forked WHERE pid = f.pid ORDER BY id DESC LIMIT 1) FROM forked f GROUP BY pid""")


def test_rows_that_workers_read_are_copied_and_named(tmp_path):
    trace = recorded_until(tmp_path, "list", "SELECT count(*) FROM forked_collection")
    (seen,) = recorded.report(tmp_path / "out")
    (finding,) = [each for each in seen["findings"] if each["rule"] == "grows_forked"]
    forked = finding["forked"]
    assert forked["holder"].endswith("rows.rows") and forked["type"] == "list" and forked["entry_type"] == "str"
    assert forked["inherited"] and forked["entries"] == 400_000
    assert forked["of"]["most"] == 2 and forked["of"]["name"] == "pt_data_worker"
    assert finding["bytes"] == 2 * forked["each_bytes"]
    # Each text has 49 bytes of its own and 114 letters, in pages of which nothing else is. Reading the pages takes a while: the
    # child that was read may still have been at it.
    assert 0.5 * 400_000 * 168 < forked["each_bytes"] <= 1.1 * 400_000 * 168
    assert forked["each_bytes"] <= 1.1 * max(last for _, last in resident_of(trace))
    text = recorded.tool("report", tmp_path / "out").stdout
    assert "COPIED BY CHILDREN" in text and "400,000 entries, most of type str" in text
    assert "2 forked children (pt_data_worker)" in recorded.tool("show", "memory", tmp_path / "out").stdout


@recorded.for_soak
def test_what_workers_keep_grows_and_is_named(tmp_path):
    recorded_until(tmp_path, "keeps", "SELECT count(*) FROM forked_collection WHERE reading = 2")
    (seen,) = recorded.report(tmp_path / "out")
    (finding,) = [each for each in seen["findings"] if each["rule"] == "grows_forked"]
    assert finding["forked"]["holder"].endswith("rows.seen") and not finding["forked"]["inherited"]
    assert finding["forked"]["entries"] > finding["forked"]["entries_before"]


def test_an_array_is_shared(tmp_path):
    trace = recorded_until(tmp_path, "array", "SELECT count(*) > 6 FROM forked")
    (seen,) = recorded.report(tmp_path / "out")
    assert seen["findings"] == []
    assert recorded.query(trace, "SELECT count(DISTINCT pid) FROM forked") == [(2,)]
    assert recorded.query(trace, "SELECT max(unshared) < 100 * 1024 * 1024 FROM forked") == [(1,)]
