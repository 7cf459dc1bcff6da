"""`diff` of runs as a user reads it, on traces written by hand."""

from __future__ import annotations

import pathlib
import sqlite3

import recorded
from check_test import FORWARD, MIB, PLANTED, training


def diff(*runs, code=0):
    result = recorded.tool("diff", *runs)
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout


def of_rank(folder: pathlib.Path, rank: int, forward=FORWARD):
    folder.mkdir(exist_ok=True)
    trace = training(folder / f"rank{rank}.dcmt", forward)
    with sqlite3.connect(trace) as database:
        database.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", [("rank", rank), ("world_size", 2)])
    return trace


def test_what_differs_most_is_said_first_and_its_line_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, after = training(tmp_path / "a.dcmt"), training(tmp_path / "b.dcmt", PLANTED)
    text = diff(f"before={before}", f"after={after}")
    assert "\nbefore → after: peak.first_step +1,048,576, 100 % of it from train.py:15 forward\n" in text
    assert text.count("train.py:15 forward") == 2  # the headline, and the first number that it explains
    assert text.count("+1,048,576 (+14.3 %)") >= 3
    assert "no difference" in diff(before, before)


def test_another_number_of_steps_is_no_difference(tmp_path):
    text = diff(training(tmp_path / "a.dcmt", steps=6), training(tmp_path / "b.dcmt", steps=9))
    assert "no difference" in text


def test_ranks_that_differ_alike_are_shown_once(tmp_path):
    for rank in (0, 1):
        of_rank(tmp_path / "a", rank)
        of_rank(tmp_path / "b", rank, PLANTED)
    text = diff(f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}")
    assert "a → b, rank 0: peak.first_step +1,048,576" in text
    assert text.endswith("a → b, rank 1: the same as rank 0\n")
    (tmp_path / "b" / "rank1.dcmt").unlink()
    of_rank(tmp_path / "b", 1, (*PLANTED, (17, MIB)))
    assert "a → b, rank 1: peak.first_step +2,097,152" in diff(f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}")
    recorded.one_line(recorded.tool("diff", training(tmp_path / "c.dcmt"), tmp_path / "b"), 5)
