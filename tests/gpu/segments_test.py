"""Segments of torch's CUDA allocator: at each mark those that torch itself lists, address by address."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "segments.py"
EXPANDABLE = "expandable_segments:True"


def joined(segments) -> list[tuple]:
    """Parts of expandable segments that lie side by side are one, as in torch's list."""
    found = []
    for address, size, default, expandable in sorted(segments):
        before = found[-1] if found else None
        if expandable and before is not None and before[2:] == (default, True) and before[0] + before[1] == address:
            found[-1] = (before[0], before[1] + size, default, True)
        else:
            found.append((address, size, bool(default), bool(expandable)))
    return found


@pytest.mark.parametrize("conf", ["", EXPANDABLE], ids=["segments", "expandable"])
def test_they_are_those_that_torch_lists(conf, tmp_path):
    env = recorded.environment(PYTORCH_CUDA_ALLOC_CONF=conf) if conf else recorded.environment()
    done = recorded.record(tmp_path / "run", PROGRAM, detail="full", env=env)
    printed = json.loads(done.stdout.splitlines()[-1])
    (trace,) = recorded.traces(tmp_path / "run")
    marks = dict(recorded.query(trace, "SELECT text, from_seq FROM mark JOIN string ON string.id = mark.name"))
    for name, listed in printed["at_marks"].items():
        there = recorded.query(
            trace,
            "SELECT address, bytes, stream = 0, expandable FROM segment WHERE from_seq < ? AND coalesce(to_seq, 1 << 62) > ?",
            marks[name],
            marks[name],
        )
        assert joined(there) == joined(listed), name
    # The program does what it is for.
    reserved = {name: sum(each[1] for each in listed) for name, listed in printed["at_marks"].items()}
    assert reserved["one was given back"] < reserved["more"] and reserved["nothing"] < reserved["gaps"] < reserved["again"]
    assert {each[3] for each in printed["at_marks"]["more"]} == {bool(conf)}
    # A segment begins no later than the first block in it.
    early = recorded.query(
        trace,
        "SELECT count(*) FROM block b WHERE b.device = 'cuda:0' AND NOT EXISTS (SELECT 1 FROM segment s"
        " WHERE s.device = b.device AND s.address <= b.address AND s.from_seq <= b.from_seq"
        " AND coalesce(s.to_seq, 1 << 62) >= b.from_seq AND b.address < s.address + s.bytes)",
    )
    assert early == [(0,)]


def test_lifetimes_has_none(tmp_path):
    recorded.record(tmp_path / "run", PROGRAM)
    (trace,) = recorded.traces(tmp_path / "run")
    assert recorded.query(trace, "SELECT count(*) FROM segment") == [(0,)]
