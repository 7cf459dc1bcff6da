"""`attach --live`: the view in the last rows of the recorder's own terminal."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

import recorded
import screen
from live_view_test import PROGRAM, children_of, has_view, mebibytes, restored, written
from proc import until


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A training that goes on while the tests attach to it, one after the other."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "grows.py").write_text(PROGRAM)
    command = [recorded.TOOL, "run", "--standby", "--", sys.executable, "grows.py", "100000", "0.2"]
    with open(folder / "said", "w") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, env=recorded.environment())
    try:
        until(lambda: "step 1\n" in (folder / "said").read_text() or process.poll() is not None)
        yield process
    finally:
        process.kill()
        process.wait()


def attached(program: subprocess.Popen, folder: pathlib.Path, *flags: object) -> screen.Session:
    return screen.Session(recorded.TOOL, "attach", program.pid, "--live", "-o", folder / "out", *flags, cwd=folder)


def is_clean(session: screen.Session) -> bool:
    return restored(session) and not any("┤" in line or "── " in line for line in written(session))


def says(session: screen.Session, word: str) -> bool:
    """The terminal shows the key's name before the word, ^Z."""
    return any(line.endswith(word) for line in written(session))


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "steps"])
def test_the_view_is_there_until_the_recording_ends(program, tmp_path, how):
    session = attached(program, tmp_path, *(("--steps", 20) if how == "steps" else ()))
    lines = session.until(has_view)
    view = next(line for line in lines if line.startswith("── step "))
    assert mebibytes(view, r" · ") >= 32, "what was there before the attach counts, too"
    if how == "Ctrl-C":
        session.type(b"\x03")
    elif how == "SIGTERM":
        os.kill(session.pid, signal.SIGTERM)
    assert session.end() == 0
    assert is_clean(session)
    assert re.search(r"recorded in .*Next: dc-memtrace report", " ".join(written(session)))
    assert program.poll() is None, "the program goes on"


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(program, tmp_path):
    command = f"set -m; '{recorded.TOOL}' attach {program.pid} --live -o out; echo stopped; read line; fg; echo back"
    session = screen.Session("/bin/sh", "-c", command, cwd=tmp_path)
    session.until(has_view)
    session.type(b"\x1a")
    session.until(lambda _: is_clean(session) and says(session, "stopped"))
    session.type(b"\n")
    session.until(has_view)
    session.type(b"\x03")
    session.until(lambda _: is_clean(session) and says(session, "back"))
    session.end()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSEGV])
def test_the_terminal_is_restored_after_the_recorder_has_died(program, tmp_path, end):
    command = f"ulimit -c 0; '{recorded.TOOL}' attach {program.pid} --live -o out; echo back"
    session = screen.Session("/bin/sh", "-c", command, cwd=tmp_path)
    session.until(has_view)
    (recorder,) = children_of(session.pid)
    os.kill(recorder, end)
    session.until(lambda _: is_clean(session) and says(session, "back"))
    session.end()
    assert program.poll() is None


def test_the_terminal_is_restored_after_the_program_has_ended(tmp_path):
    (tmp_path / "grows.py").write_text(PROGRAM)
    command = [recorded.TOOL, "run", "--standby", "--", sys.executable, "grows.py", "100000", "0.2"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, env=recorded.environment()) as process:
        process.stdout.readline()
        session = attached(process, tmp_path)
        session.until(has_view)
        process.kill()
        assert session.end() == 0 and is_clean(session)
        process.stdout.close()


def test_without_a_terminal_it_is_refused(program, tmp_path):
    result = recorded.tool("attach", program.pid, "--live", cwd=tmp_path)
    assert recorded.one_line(result, 2).startswith("dc-memtrace: --live needs a terminal as standard error.")
    result = recorded.tool("attach", program.pid, "--live", "--quiet", cwd=tmp_path)
    assert recorded.one_line(result, 2).startswith("dc-memtrace: --live shows what --quiet does not")
