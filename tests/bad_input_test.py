"""Every bad input leads to one clear line and the documented exit code, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys

import pytest
import recorded
from life_safety import LIFE

HELLO = "print('hello')"
MAKES_TENSORS = (LIFE, "make", 3)  # in C++, because Python needs seconds to import torch


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "out"
    result = recorded.tool("run", "-o", folder, "--", *MAKES_TENSORS)
    assert result.returncode == 0, result.stderr
    return folder


def test_unknown_command_and_option():
    assert "reprot" in recorded.one_line(recorded.tool("reprot"), 2)
    assert "--nope" in recorded.one_line(recorded.tool("report", "--nope", "x"), 2)
    recorded.one_line(recorded.tool("run"), 2)
    recorded.one_line(recorded.tool("run", "--"), 2)
    assert "--detial" in recorded.one_line(recorded.tool("run", "--detial", "full", "--", "true"), 2)
    assert "detail" in recorded.one_line(recorded.tool("run", "--detail", "some", "--", "true"), 2)


def test_missing_foreign_and_newer_traces(tmp_path, run_folder):
    assert "none.dcmt" in recorded.one_line(recorded.tool("report", tmp_path / "none.dcmt"), 3)
    foreign = tmp_path / "foreign.dcmt"
    foreign.write_text("not a database at all, but long enough to look at" * 100)
    assert "foreign.dcmt" in recorded.one_line(recorded.tool("report", foreign), 3)
    other = tmp_path / "other.dcmt"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t(x)")
    recorded.one_line(recorded.tool("report", other), 3)
    newer = tmp_path / "newer.dcmt"
    shutil.copy(recorded.traces(run_folder)[0], newer)
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 99")
    line = recorded.one_line(recorded.tool("report", newer), 3)
    newest = recorded.query(recorded.traces(run_folder)[0], "PRAGMA user_version")[0][0]
    assert "schema 99" in line and f"reads 1 to {newest}." in line
    recorded.one_line(recorded.tool("report", tmp_path), 3)


def test_truncated_trace(tmp_path, run_folder):
    whole = recorded.traces(run_folder)[0].read_bytes()
    for size in (0, 1, 99, 100, 4096, len(whole) // 2, len(whole) - 1):
        cut = tmp_path / f"{size}.dcmt"
        cut.write_bytes(whole[:size])
        recorded.one_line(recorded.tool("report", cut), 3)


def test_unwritable_output_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert "file" in recorded.one_line(recorded.tool("run", "-o", file / "out", "--", "true"), 125)
    if os.geteuid() != 0:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        recorded.one_line(recorded.tool("run", "-o", closed, "--", "true"), 125)


def test_a_run_is_not_overwritten(run_folder):
    before = {file.name: file.read_bytes() for file in run_folder.iterdir()}
    assert "--force" in recorded.one_line(recorded.tool("run", "-o", run_folder, "--", "true"), 125)
    assert {file.name: file.read_bytes() for file in run_folder.iterdir()} == before


def test_command_that_cannot_be_started(tmp_path):
    assert recorded.tool("run", "-o", tmp_path / "a", "--", "/no/such/program").returncode == 127
    assert recorded.tool("run", "-o", tmp_path / "b", "--", "/etc/passwd").returncode == 126


@pytest.mark.parametrize("program", [HELLO, f"import torch; {HELLO}"], ids=["no_torch", "torch"])
def test_program_without_tensors(tmp_path, program):
    result = recorded.tool("run", "-o", tmp_path / "out", "--", sys.executable, "-c", program)
    assert "made a tensor: nothing was recorded" in recorded.one_line(result, 0)
    assert result.stdout == "hello\n"
    assert recorded.traces(tmp_path / "out") == []
    assert "no trace" in recorded.one_line(recorded.tool("report", tmp_path / "out"), 3)


def test_the_jobs_exit_code_is_passed(tmp_path):
    assert recorded.tool("run", "-o", tmp_path / "a", "--", LIFE, "leave", "exit").returncode == 3
    assert recorded.tool("run", "-o", tmp_path / "b", "--", LIFE, "leave", "abort").returncode == 128 + 6
    assert recorded.meta(recorded.traces(tmp_path / "b")[0])["exit"] == "signal 6"


def test_a_torch_that_fails_the_self_check(tmp_path):
    result = recorded.tool(
        "run", "-o", tmp_path / "out", "--", *MAKES_TENSORS,
        env=recorded.environment(DC_MEMTRACE_TEST_SELF_CHECK="fail"),
    )  # fmt: skip
    line = recorded.one_line(result, 0)
    assert "differ from torch" in line and "nothing is recorded" in line
    assert result.stdout == "3\n", "the job runs on"
    assert recorded.traces(tmp_path / "out") == []


@pytest.mark.parametrize(
    "table, place, what",
    [
        ("[[operator]]\npattern = 'a::b'\nrole = 'gathers'\nkey = 'id'\n", ":1:", "role"),
        ("[[operator]]\npattern = 'a::b'\nrole = 'gather'\nkey = 'id'\nkye = 'id'\n", ":5:", "kye"),
        ("[[operator]]\npattern = 'a::*'\nrole = 'observe'\n[[operator]]\npattern = 'a::b'\nrole = 'observe'\n", ":4:", "line 1"),
        ("x = = 1\n", ":1:", ""),
    ],
)
def test_an_error_in_a_table_of_operators(tmp_path, table, place, what):
    file = tmp_path / "operators.toml"
    file.write_text(table)
    line = recorded.one_line(recorded.tool("run", "-o", tmp_path / "out", "--operators", file, "--", "true"), 125)
    assert f"operators.toml{place}" in line and what in line
    assert not (tmp_path / "out").exists()


def test_rows_that_nothing_matched_are_said_by_their_lines(tmp_path):
    file = tmp_path / "operators.toml"
    file.write_text(
        "[[operator]]\npattern = 'my::fetch'\nrole = 'gather'\nkey = 'id'\n"
        "[[operator]]\npattern = 'my::fech'\nrole = 'gather'\nkey = 'id'\n"
        "[[function]]\nfile = 'a.py'\nfunction = 'drop'\nrole = 'release'\nevent = 'resize'\nmechanism = 'M'\n"
    )
    code = (
        "import torch\nlib = torch.library.Library('my', 'DEF')\nlib.define('fetch(Tensor t, int id) -> Tensor')\n"
        "lib.impl('fetch', lambda t, id: t.clone(), 'CPU')\ntorch.ops.my.fetch(torch.ones(50_000), 1)\n"
    )
    done = recorded.tool("run", "-o", tmp_path / "out", "--operators", file, "--", sys.executable, "-c", code)
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if "operators.toml" in line]
    assert [line.split("operators.toml:")[1].split(":")[0] for line in lines] == ["5", "9"], done.stderr
    assert "'my::fech' as gather" in lines[0] and "no function of the run matched 'drop'" in lines[1]



@recorded.for_soak
def test_no_room_in_shared_memory(tmp_path):
    """If a spool cannot be allocated, the job runs, and the reason is printed. Where there is room, 4 GiB are filled."""
    result = recorded.tool("run", "-o", tmp_path / "out", "--spool-mib", "4096", "--", *MAKES_TENSORS)
    assert result.stdout == "3\n" and result.returncode == 0
    if not recorded.traces(tmp_path / "out"):
        assert "no room" in recorded.one_line(result, 0)


def test_json_of_every_command(run_folder):
    (trace,) = recorded.traces(run_folder)
    for command in (["report"], ["show", "releases"], ["show", "peak"], ["show", "live"]):
        result = recorded.tool(*command, "--json", trace)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["version"] == 1
    assert json.loads(recorded.tool("doctor", "--json").stdout)["version"] == 1


WORDS = ["[1,2]", "[[[0,50000,true]]]", "-o", "elsewhere", "--help", "--", "--version", "run", "", "a b"]


@pytest.mark.parametrize("dashes", [["--"], []], ids=["dashes", "none"])
def test_a_commands_words_are_its_own(tmp_path, dashes):
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    result = recorded.tool("run", "-q", "-o", tmp_path / "out", *dashes, sys.executable, "-c", code, *WORDS)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == WORDS
