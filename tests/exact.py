"""Compares what a trace has alive at a point with the lists written by programs/libtorch/live_objects.h."""

from __future__ import annotations

import collections
import pathlib

import recorded

Living = tuple[collections.Counter, collections.Counter]  # (address, bytes) of storages; (address, storage) of tensors


def written(path: pathlib.Path) -> Living:
    storages, tensors = collections.Counter(), collections.Counter()
    for line in path.read_text().splitlines():
        kind, address, value = line.split()
        (storages if kind == "storage" else tensors)[int(address), int(value)] += 1
    return storages, tensors


def alive(trace: pathlib.Path, seq: int) -> Living:
    """What is alive right after sequence `seq`, from the rows of the trace, with the bytes at that time."""
    lives = "from_seq <= ?1 AND (to_seq IS NULL OR to_seq > ?1)"
    storages = {
        row: (address, size)
        for row, address, size in recorded.query(trace, f"SELECT id, address, bytes FROM storage WHERE {lives}", seq)
    }
    for row, size in recorded.query(
        trace, "SELECT storage, bytes FROM mark WHERE kind = 'resize' AND from_seq <= ? ORDER BY from_seq", seq
    ):
        if row in storages:
            storages[row] = (storages[row][0], size)
    address_of = {row: address for row, (address, _) in storages.items()}
    tensors = recorded.query(trace, f"SELECT address, storage FROM tensor WHERE {lives}", seq)
    return (
        collections.Counter(storages.values()),
        collections.Counter((address, address_of.get(storage, 0)) for address, storage in tensors),
    )


def check_nothing_unseen(trace: pathlib.Path, *except_in: tuple[int, int]) -> None:
    """No lost record, no end without a birth, and no change that was observed only at an end, except in these sequences.

    For traces with detail `full`.
    """
    meta = recorded.meta(trace)
    assert meta["detail"] == "full"
    assert recorded.query(trace, "SELECT reason, count FROM loss") == []
    assert recorded.query(trace, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'") == [(0,)]
    assert meta["unseen_births"] == 0
    changes = recorded.query(trace, "SELECT seq FROM diagnostic WHERE code = 'unseen_change'")
    assert meta["unseen_changes"] == len(changes)
    for (seq,) in changes:
        assert any(begin < seq < end for begin, end in except_in)
