"""With detail `lifetimes`, small blocks are summed: the curve is exact where it matters, and peaks always are."""

from __future__ import annotations

import json

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "small_blocks.py"
SUM = "SELECT id FROM string WHERE text = 'under 64 KiB, not followed'"


@pytest.fixture(scope="module", params=["lifetimes", "full"])
def recording(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "out"
    counted = json.loads(recorded.record(folder, PROGRAM, "--gather", detail=request.param).stdout)
    (trace,) = recorded.traces(folder)
    return request.param, trace, counted


def mark(trace, name: str) -> int:
    ((seq,),) = recorded.query(
        trace, "SELECT from_seq FROM mark JOIN string ON string.id = mark.name WHERE text = ?", name
    )
    return seq


def allocated(trace, name: str) -> int:
    rows = recorded.query(trace, "SELECT bytes FROM allocated WHERE seq < ? ORDER BY seq DESC LIMIT 1", mark(trace, name))
    return rows[0][0]


def test_the_curve_is_exact_at_marks(recording):
    _, trace, counted = recording
    before = allocated(trace, "begin")
    assert {name: allocated(trace, name) - before for name in counted["at_marks"]} == counted["at_marks"]


def test_peaks_are_exact_between_marks(recording):
    _, trace, counted = recording
    seen = recorded.memory_counts(trace, mark(trace, "begin"), mark(trace, "end"))
    assert seen["peak_bytes"] == counted["peak"] == 300 * 1024 + 400 * 48_000
    part = recorded.memory_counts(trace, mark(trace, "begin"), mark(trace, "the most are gone"))
    assert part["peak_bytes"] == 400 * 1024 + (1 << 20)


def test_small_blocks_are_no_rows_each(recording):
    detail, trace, _ = recording
    between = (mark(trace, "begin"), mark(trace, "end"))
    each = recorded.query(
        trace, "SELECT count(*) FROM block WHERE address != 0 AND bytes < 65536 AND from_seq BETWEEN ? AND ?", *between
    )
    sums = recorded.query(trace, f"SELECT count(*) FROM block WHERE owner IN ({SUM})")
    if detail == "full":
        assert each == [(800,)] and sums == [(0,)]
    else:
        assert each == [(0,)] and sums[0][0] < 40


def test_a_gathered_parameter_has_its_block_at_any_size(recording):
    _, trace, _ = recording
    gathered = recorded.query(
        trace,
        "SELECT b.bytes FROM mark m JOIN block b ON b.storage = m.storage"
        " WHERE m.kind = 'gather' AND m.key = 7 AND b.from_seq < ?",
        mark(trace, "gathered"),
    )
    assert gathered == [(1024,)]


def test_they_are_shown_as_one_group(recording):
    detail, trace, _ = recording
    for by in ("site", "phase", "kind", "module"):
        shown = recorded.tool("show", "live", trace, "--at", "300 small", "--by", by).stdout
        assert ("under 64 KiB, not followed" in shown) is (detail == "lifetimes"), shown
        assert ("recorded one by one by: dc-memtrace run --detail full" in shown) is (detail == "lifetimes"), shown
