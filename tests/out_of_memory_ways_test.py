"""`run --oom-only`: memory runs out in many ways, and what was alive and who held it is known, by the program's own count."""

from __future__ import annotations

import json
import subprocess
import sys

import control_groups
import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "out_of_memory_ways.py"
MIB = 1 << 20
# Each raises at the refused request, and nobody catches it.
UNCAUGHT = ("fill", "functions", "thread", "backward", "step", "load", "checkpoint", "module", "generator", "attribute", "cycle")
# What a way has alive beside the variables that it names: the graph's input, Adam's state, what is loaded.
MORE = {"backward": 64 * MIB, "step": 224 * MIB, "load": 96 * MIB, "checkpoint": 256 * MIB, "cycle": 64 * MIB}


def run(tmp_path, way: str, *options: str):
    folder = tmp_path / "out"
    env = recorded.environment(OOM_FOLDER=str(tmp_path), OMP_NUM_THREADS="1")
    done = recorded.tool("run", "--oom-only", "-o", folder, "--", sys.executable, PROGRAM, way, *options, env=env)
    return folder, done


def said(done) -> dict:
    """The program's last count."""
    return [json.loads(line) for line in done.stdout.splitlines() if "names" in line][-1]


def alive_at(trace, seq: int) -> dict[int, int]:
    """Bytes of the blocks that were alive, by the trace's rows."""
    return dict(recorded.query(trace, "SELECT id, bytes FROM block WHERE address != 0 AND from_seq <= ?1 AND"
                                      " (to_seq IS NULL OR to_seq > ?1)", seq))


def held_by(trace, name: str, seq: int) -> int:
    """Bytes of the storages alive then to which the variable leads, by the trace's rows."""
    ((found,),) = recorded.query(
        trace,
        "SELECT coalesce(sum(bytes), 0) FROM storage WHERE from_seq <= ?1 AND (to_seq IS NULL OR to_seq > ?1) AND id IN"
        " (SELECT owner.storage FROM owner JOIN string ON string.id = owner.path WHERE string.text GLOB ?2 AND confirmed"
        "  UNION SELECT held_in.storage FROM held_in JOIN container ON container.id = held_in.container"
        "  JOIN string ON string.id = container.path WHERE string.text GLOB ?2)",
        seq, f"*{name}*")
    return found


def error_of(trace) -> int:
    return recorded.query(trace, "SELECT max(id) FROM oom")[0][0]


def check(folder, done, way: str) -> None:
    counted = said(done)
    (trace,) = [each for each in recorded.traces(folder) if error_of(each)]
    seq = error_of(trace)
    alive = sum(alive_at(trace, seq).values())
    assert counted["alive"] <= alive <= counted["alive"] + MORE.get(way, 0), (counted, alive / MIB)
    for name, size in counted["names"].items():
        assert held_by(trace, name, seq) >= size, name
    text = done.stderr
    assert "dc-memtrace: out of memory on cpu" in text
    lines = text[text.index("dc-memtrace: out of memory on cpu") :].splitlines()
    assert any("held by" in line and any(name in line for name in counted["names"]) for line in lines[:10]), text


@pytest.mark.parametrize("way", UNCAUGHT)
def test_what_was_alive_and_who_held_it(tmp_path, way):
    folder, done = run(tmp_path, way)
    assert done.returncode == (7 if way == "thread" else 1), done.stderr
    check(folder, done, way)
    (trace,) = recorded.traces(folder)
    assert recorded.meta(trace)["detail"] == "oom"
    if way != "thread":  # the main thread goes on there
        assert " ended with its out-of-memory error" in done.stderr


def test_a_child(tmp_path):
    folder, done = run(tmp_path, "child")
    assert done.returncode == 1
    check(folder, done, "fill")


def test_killed_at_once_after(tmp_path):
    """Whoever catches the error is killed: everything was written before the exception was raised."""
    folder, done = run(tmp_path, "killed")
    assert done.returncode == 137
    check(folder, done, "killed")


def test_one_that_is_caught_and_tried_again_smaller(tmp_path):
    folder, done = run(tmp_path, "retry")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["size"] == 16
    failed = done.stdout.splitlines()  # the last try of size 32 says what it had, then that of 16 begins anew
    begins = max(i for i, line in enumerate(failed) if '"batch": 33554432}' in line)
    done.stdout = failed[begins - 1]
    check(folder, done, "retry")
    assert " caught its 2 out-of-memory errors and went on" in done.stderr
    assert "ended with" not in done.stderr


def test_the_last_one_is_told_from_those_that_were_caught(tmp_path):
    folder, done = run(tmp_path, "last")
    assert done.returncode == 1
    check(folder, done, "last")
    assert " ended with the last of its 5 out-of-memory errors; it went on after the others" in done.stderr
    # Three at once, and the one that mattered.
    assert done.stderr.count("dc-memtrace: out of memory on cpu") == 4
    assert "--at oom#5" in done.stderr
    (report,) = recorded.report(folder)
    went_on = [error["went_on"] for finding in report["findings"] for error in finding["out_of_memory"]]
    assert went_on == [True] * 4 + [False]


def test_under_the_shells_limit(tmp_path):
    """ulimit -v, around the program alone."""
    folder = tmp_path / "out"
    command = f'ulimit -v 4000000; exec "{sys.executable}" "{PROGRAM}" fill_all --no-limit'
    env = recorded.environment(OMP_NUM_THREADS="1")
    done = recorded.tool("run", "--oom-only", "-o", folder, "--", "bash", "-c", command, env=env)
    assert done.returncode == 1, done.stderr
    check(folder, done, "fill_all")


def test_the_environment_asks_for_it(tmp_path):
    env = recorded.environment(DC_MEMTRACE="oom", OMP_NUM_THREADS="1")
    done = recorded.tool("run", "-o", tmp_path / "out", "--", sys.executable, PROGRAM, "fill", env=env)
    assert done.returncode == 1
    check(tmp_path / "out", done, "fill")


def test_what_has_ended_leaves_no_rows(tmp_path):
    program = "import torch\nkept = torch.ones(1 << 20)\nfor _ in range(3000): torch.ones(1 << 16)\n"
    (tmp_path / "steps.py").write_text(program)
    done = recorded.tool("run", "--oom-only", "-o", tmp_path / "out", "--", sys.executable, tmp_path / "steps.py")
    assert done.returncode == 0 and done.stderr == ""
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE address != 0") == [(0,)]
    assert trace.stat().st_size < 1 << 20


def test_a_rank_without_memory_has_the_others_read(tmp_path):
    folder = tmp_path / "out"
    (tmp_path / "ranks.py").write_text(RANKS.format(program=str(PROGRAM)))
    env = recorded.environment(OMP_NUM_THREADS="1")
    done = recorded.tool("run", "--oom-only", "-o", folder, "--", sys.executable, tmp_path / "ranks.py", env=env)
    assert done.returncode == 0, done.stderr
    assert held_by(folder / "rank1.dcmt", "shard", 1 << 60) == 3 * 32 * MIB


RANKS = """
import os, subprocess, sys
waits = "import torch, time\\nshard = [torch.empty(32 << 20, dtype=torch.uint8) for _ in range(3)]\\nprint('ready', flush=True)\\ntime.sleep(60)"
def start(rank, *command, **options):
    return subprocess.Popen([sys.executable, *command], env={{**os.environ, "RANK": rank, "WORLD_SIZE": "2"}}, **options)
other = start("1", "-c", waits, stdout=subprocess.PIPE, text=True)
other.stdout.readline()
failed = start("0", {program!r}, "fill")
failed.wait()
import time
time.sleep(1)
other.kill()
other.wait()
"""


def test_near_the_control_groups_limit(tmp_path):
    """Killed by the kernel, without any error: the readings came before."""
    with control_groups.made(1 << 30) as group:
        program = ("import time, torch\nkept = []\nwhile True:\n    kept.append(torch.ones(2 << 20))\n    time.sleep(0.02)\n")
        (tmp_path / "grows.py").write_text(program)
        inner = control_groups.command_in(group, [sys.executable, tmp_path / "grows.py"])
        done = subprocess.run([recorded.TOOL, "run", "--oom-only", "-o", tmp_path / "out", "--", *inner],
                              capture_output=True, text=True, timeout=120, env=recorded.environment())
    assert done.returncode == 137, done.stderr
    (trace,) = recorded.traces(tmp_path / "out")
    alive = sum(size for (size,) in recorded.query(trace, "SELECT bytes FROM block WHERE to_seq IS NULL AND address != 0"))
    assert alive > 500 * MIB
    assert held_by(trace, "kept", 1 << 60) > 0.8 * alive
    assert "dc-memtrace: killed: " in done.stderr and "held by main.kept [list of " in done.stderr
