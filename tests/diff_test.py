"""`diff` of runs as a user reads it, on traces written by hand."""

from __future__ import annotations

import json
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
    assert "\nbefore → after: peak.first_step +1,048,576 B, 100 % of it from train.py:15 forward\n" in text
    assert text.count("train.py:15 forward") == 2  # the headline, and the first number that it explains
    assert text.count("+1,048,576 (+14.3 %)") >= 3
    assert "no difference" in diff(before, before)


def test_the_layers_that_a_peak_has_changed_for_are_named(tmp_path):
    before, after = training(tmp_path / "a.dcmt"), training(tmp_path / "b.dcmt", PLANTED)
    assert "outside of modules" not in diff(before, after)
    for trace in (before, after):
        with sqlite3.connect(trace) as database:
            name = database.execute("INSERT INTO string SELECT max(id) + 1, 'model.layers.3' FROM string RETURNING id").fetchone()[0]
            database.execute("INSERT INTO module VALUES(7, ?)", (name,))
            database.execute("UPDATE block SET module = 7 WHERE bytes = ?", (MIB,))
    assert "\n    for        +1,048,576 B  model.layers.3\n" in diff(before, after)
    number = json.loads(diff("--json", before, after))["differences"][0]["numbers"][0]
    (module,) = number["modules"]
    assert (module["module"], module["after_bytes"] - module["before_bytes"]) == ("model.layers.3", MIB)


def test_another_number_of_steps_is_no_difference(tmp_path):
    text = diff(training(tmp_path / "a.dcmt", steps=6), training(tmp_path / "b.dcmt", steps=9))
    assert "no difference" in text


def test_ranks_that_differ_alike_are_shown_once(tmp_path):
    for rank in (0, 1):
        of_rank(tmp_path / "a", rank)
        of_rank(tmp_path / "b", rank, PLANTED)
    text = diff(f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}")
    assert "a → b, rank 0: peak.first_step +1,048,576 B" in text
    assert text.endswith("a → b, rank 1: the same as rank 0\n")
    (tmp_path / "b" / "rank1.dcmt").unlink()
    of_rank(tmp_path / "b", 1, (*PLANTED, (17, MIB)))
    assert "a → b, rank 1: peak.first_step +2,097,152 B" in diff(f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}")
    nothing = recorded.tool("diff", f"c={training(tmp_path / 'c.dcmt')}", f"b={tmp_path / 'b'}")
    line = recorded.one_line(nothing, 5)
    assert line.endswith("no rank in common: the process without a rank of c, ranks 0, 1 of b."), line


def test_a_rank_that_one_run_has_alone_is_said_in_one_line(tmp_path):
    for rank in (0, 1, 2):
        of_rank(tmp_path / "many", rank)
    of_rank(tmp_path / "few", 0)
    for first, second in (("many", "few"), ("few", "many")):
        runs = [f"{name}={tmp_path / name}" for name in (first, second)]
        text = diff(*runs)
        assert text.count("ranks 1, 2") == 1, text
        assert text.endswith("\nnot compared: ranks 1, 2 of many: few does not have them\n")
        document = json.loads(diff("--json", *runs))
        assert document["lone_ranks"] == [{"run": "many", "lacking": "few", "ranks": [1, 2]}]
        assert [each["rank"] for each in document["differences"]] == [0]
    assert "not compared" not in diff(tmp_path / "many", tmp_path / "many")


def test_of_the_processes_of_a_rank_the_one_that_trains_is_compared(tmp_path):
    for name in ("a", "b"):
        of_rank(tmp_path / name, 0)
    worker = training(tmp_path / "b" / "rank0-worker.dcmt", PLANTED, steps=1)
    with sqlite3.connect(worker) as database:
        database.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", [("rank", 0), ("world_size", 2)])
    runs = [f"{name}={tmp_path / name}" for name in ("a", "b")]
    text = diff(*runs)
    assert ": no difference\n" in text
    assert text.endswith(f"not compared, because another process of the rank did more: {worker}\n")
    assert json.loads(diff("--json", *runs))["left_out"] == [str(worker)]


def test_names_of_runs_are_their_own(tmp_path):
    one, other = training(tmp_path / "a.dcmt"), training(tmp_path / "b.dcmt")
    line = recorded.one_line(recorded.tool("diff", f"x={one}", f"x={other}"), 2)
    assert "two runs are called x" in line
    recorded.one_line(recorded.tool("diff", one, "x="), 3)
