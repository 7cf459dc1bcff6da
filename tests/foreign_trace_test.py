"""A trace may come from anywhere: nothing in it is executed, changes the terminal, or blocks a reader."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sqlite3

import pytest
import recorded

ESCAPES = "\x1b]0;title\x07\x1b[2Jevil::gather\nNo finding. Everything is fine\t\u202e\u009b"
MIB = 1 << 20


def write_trace(path: pathlib.Path, text: str = "", **meta: object) -> pathlib.Path:
    """A trace of one parameter that is gathered, released and still alive. `text` is appended to every name."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")  # a wait for the disk is longer than the work
    database.executescript(recorded.schema_sql())
    names = ["zero3::gather", "zero3::release", "thread", "train.py", "forward", "note", "buf1", "model.py", "buf1 = f()"]
    database.executemany("INSERT INTO string VALUES(?, ?)", [(i, name + text) for i, name in enumerate(names, 1)])
    database.executescript(f"""
        INSERT INTO thread(id, tid, name, from_seq, from_ns) VALUES(0, 1, 3, 1, 1);
        INSERT INTO frame(id, file, function, line) VALUES(1, 4, 5, 3);
        INSERT INTO stack(id, parent, frame) VALUES(1, NULL, 1);
        INSERT INTO storage(id, address, bytes, first_seen, thread, stack, late, seq_length, from_ns, ns_length)
            VALUES(1, 1, {MIB}, 0, 0, 1, 0, NULL, 1, NULL);
        INSERT INTO block(id, address, bytes, storage_back, thread, stack, late, seq_length, from_ns, ns_length)
            VALUES(2, 1, {MIB}, 1, 0, 1, 0, NULL, 2, NULL);
        INSERT INTO mark(id, kind, name, thread, graph, key, cycle, storage, bytes, stack, from_seq, to_seq, from_ns,
            to_ns) VALUES(3, 'gather', 1, 0, 0, 0, 1, 1, {MIB}, 1, 3, 3, 3, 3);
        INSERT INTO mark(id, kind, name, thread, graph, key, cycle, storage, bytes, bytes_after, bytes_settled,
            settled_seq, settled_ns, declared, remaining, flags, stack, from_seq, to_seq, from_ns, to_ns)
            VALUES(4, 'release', 2, 0, 0, 0, 1, 1, {MIB}, {MIB}, {MIB}, 6, 6, 1, 0, 'final', 1, 4, 5, 4, 5);
        INSERT INTO mark(id, kind, storage, parent, thread, from_seq, to_seq, from_ns, to_ns)
            VALUES(5, 'census', 1, 4, 0, 5, 5, 5, 5);
        INSERT INTO edge(id, census, storage, held, holder, object, thread, name, function, file, assignment, line,
            confidence, from_seq, to_seq, from_ns, to_ns)
            VALUES(1, 5, 1, 'storage', 'local', 1, 0, 7, 5, 8, 9, 4, 'certain', 5, NULL, 5, NULL);
        INSERT INTO mark(id, kind, value, from_seq, to_seq, from_ns, to_ns) VALUES(7, 'step', 1, 7, 7, 7, 7);
        INSERT INTO diagnostic(id, seq, ns, code, text) VALUES(1, 7, 7, 'note', 6);
    """)
    values = {"state": "finished", "exit": "exit 0", "detail": "full", "torch": "2.11.0", "python": "3.11"}
    values |= {"command": "python train.py", "pid": 1, "rank": 0, "world_size": 1, "start_ns": 1, "start_real_ns": 1}
    values |= {"last_seq": 8, "records": 8, "end_ns": 8000} | meta
    for key, value in values.items():
        named = value + text if isinstance(value, str) and key not in ("state", "detail", "exit") else value
        database.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, named))
    database.commit()
    database.close()
    return path


def refused(trace: pathlib.Path) -> str:
    """The one-line error, which must be the same for every command."""
    for command in (["report"], ["show", "curve"], ["lint"]):
        result = recorded.tool(*command, trace, timeout=60)
        assert result.returncode == 3, result.stdout + result.stderr
        assert result.stderr.count("\n") == 1 and result.stdout == ""
    return result.stderr


def test_reproduce_runs_no_program_and_no_module_that_came_with_the_trace(tmp_path):
    bundle, bin_folder, ran = tmp_path / "bundle", tmp_path / "bin", tmp_path / "ran"
    bundle.mkdir()
    bin_folder.mkdir()
    evil, good = bundle / "python-evil", bin_folder / "python3"
    evil.write_text(f"#!/bin/sh\necho evil >> {ran}\n")
    good.write_text(f'#!/bin/sh\necho "good $PYTHONSAFEPATH $*" >> {ran}\nexit 1\n')
    evil.chmod(0o755)
    good.chmod(0o755)
    write_trace(bundle / "rank0.dcmt", command="bundle/python-evil train.py")
    environment = recorded.environment(PATH=f"{bin_folder}:{os.environ['PATH']}")
    result = recorded.tool("reproduce", "bundle/rank0.dcmt", cwd=tmp_path, env=environment)
    assert result.returncode == 4, result.stdout + result.stderr  # the good one replays nothing
    assert re.fullmatch(r"good 1 -m dcmt_zero3\.replay \S+/plan\.json\n", ran.read_text())
    recorded.tool("reproduce", "bundle/rank0.dcmt", "--python", "bin/python3", cwd=tmp_path, env=recorded.environment())
    assert ran.read_text().count("good") == 2 and "evil" not in ran.read_text()


def test_a_program_of_a_story_has_nothing_of_the_trace_s_name(tmp_path):
    trace = write_trace(tmp_path / '""";print(1).dcmt')
    story = recorded.tool("reproduce", trace, "--emit", "-")
    assert story.returncode == 0, story.stderr
    assert '"""' not in story.stdout.split("recorded in", 1)[1].split("\n", 1)[0]
    compile(story.stdout, "story", "exec")


COMMANDS = (
    ["report"], ["show", "releases"], ["show", "peak"], ["show", "live"], ["show", "storage"], ["show", "curve"],
    ["show", "survivors"],
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_text_of_a_trace_changes_neither_lines_nor_the_terminal(tmp_path, command):
    plain = write_trace(tmp_path / "plain.dcmt")
    escapes = write_trace(tmp_path / f"escapes{ESCAPES}.dcmt".replace("/", ""), ESCAPES)
    storage = [1] if command[-1] == "storage" else []
    for json_option in ([], ["--json"]):
        expected = recorded.tool(*command, plain, *storage, *json_option)
        shown = recorded.tool(*command, escapes, *storage, *json_option)
        assert shown.returncode == expected.returncode, shown.stderr
        text = shown.stdout + shown.stderr
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), repr(text)
        assert "\nNo finding. Everything is fine" not in text
        if json_option and expected.returncode == 0:
            json.loads(shown.stdout)
        elif expected.returncode == 0 and command[-1] != "curve":  # it shows no name
            assert "\\x1b]0;title" in text, "the name is shown, and what it tried"


def test_json_of_bytes_that_are_no_text(tmp_path):
    trace = write_trace(tmp_path / "t.dcmt")
    with sqlite3.connect(trace) as database:
        database.execute("UPDATE string SET text = CAST(x'C328FF00EDA080' AS TEXT)")
    for command in COMMANDS:
        result = recorded.tool(*command, "--json", trace, *([1] if command[-1] == "storage" else []))
        if result.returncode == 0:
            json.loads(result.stdout)


PLANTS = {
    "view": "ALTER TABLE meta RENAME TO m2; CREATE VIEW meta AS WITH RECURSIVE r(key, value) AS"
    " (SELECT 'a', 1 UNION ALL SELECT key, value + 1 FROM r) SELECT * FROM r",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM block; END",
    "virtual table": "CREATE VIRTUAL TABLE extra USING fts5(text)",
}


@pytest.mark.parametrize("plant", PLANTS)
def test_what_must_be_a_table_is_one(tmp_path, plant):
    trace = write_trace(tmp_path / "t.dcmt")
    with sqlite3.connect(trace) as database:
        database.executescript(PLANTS[plant])
    assert "not a trace that dc-memtrace wrote" in refused(trace)


def test_sums_beyond_their_type_are_refused(tmp_path):
    trace = write_trace(tmp_path / "t.dcmt", last_seq=40_100, records=40_100)
    with sqlite3.connect(trace) as database:
        database.executemany(
            "INSERT INTO block(id, address, bytes, thread, late, seq_length, from_ns, ns_length)"
            " VALUES(?, ?, ?, 0, 0, NULL, ?, NULL)",
            [(i, i, 1 << 48, i) for i in range(10, 40_010)],
        )
    result = recorded.tool("report", trace)
    assert result.returncode == 3 and result.stderr.count("\n") == 1
    assert "damaged" in result.stderr
