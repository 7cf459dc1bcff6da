"""A user's first steps: records a script by its name, reads the newest run, and follows the suggested command."""

from __future__ import annotations

import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import struct
import subprocess
import termios

import pytest

import recorded
from recorded import tool

PROGRAM = """
import torch
history = []
weight = torch.ones(256, 256, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(8):
    loss = (torch.ones(256, 256) @ weight).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append((torch.ones(256, 256) @ weight).pow(2).mean())
    print("step", step, flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    """The folder in which `run train.py` was called."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "train.py").write_text(PROGRAM)
    result = tool("run", "train.py", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"step {step}" for step in range(8)]
    assert result.stderr == "", "nothing is said into a pipe"
    return folder


def test_a_run_without_a_folder_gets_one_by_program_and_time(folder):
    (run,) = (folder / "dc-memtrace-out").iterdir()
    assert re.fullmatch(r"train-\d{8}-\d{6}", run.name)
    assert len(recorded.traces(run)) == 1


def test_a_second_run_gets_another_folder_and_is_the_last(tmp_path):
    """With a script without torch, because that is fast. `last` finds the folder, and reports that it has no trace."""
    (tmp_path / "hello.py").write_text("import sys\nprint(sys.argv[1:])\n")
    for _ in range(2):
        result = tool("run", "hello.py", "--name", "x", cwd=tmp_path)
        assert (result.returncode, result.stdout) == (0, "['--name', 'x']\n"), result.stderr
    runs = sorted((tmp_path / "dc-memtrace-out").iterdir(), key=lambda run: (run / "run.json").stat().st_mtime_ns)
    assert len(runs) == 2
    line = recorded.one_line(tool("report", "last", cwd=tmp_path), 3)
    assert f"dc-memtrace-out/{runs[-1].name}: no trace" in line


def test_each_output_ends_with_a_command_that_works(folder):
    words = ["report", "last"]
    seen = []
    while len(seen) < 3:
        result = tool(*words, cwd=folder)
        assert result.returncode == 0, result.stderr
        seen.append(words[:2])
        last = result.stdout.splitlines()[-1]
        if not last.startswith("next: dc-memtrace "):
            break
        words = shlex.split(last.removeprefix("next: dc-memtrace "))
    assert seen[:2] == [["report", "last"], ["show", "holders"]]
    (by_holder,) = [tool("show", "peak", "last", "--by", "holder", cwd=folder)]
    assert "main.history" in by_holder.stdout
    command = by_holder.stdout.splitlines()[-1]
    assert command.startswith("next: dc-memtrace show storage "), by_holder.stdout
    story = tool(*shlex.split(command.removeprefix("next: dc-memtrace ")), cwd=folder)
    assert story.returncode == 0 and "main.history" in story.stdout, story.stdout + story.stderr


def on_terminal(*command: object, rows: int = 30, columns: int = 80, **options) -> str:
    """All output to a terminal of this size."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.chdir(options.get("cwd", "."))
        os.execve(command[0], list(map(str, command)), recorded.environment(TERM="xterm"))
    text = b""
    while select.select([terminal], [], [], 180)[0]:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # closed: the program is over
            break
        text += more
    os.waitpid(pid, 0)
    os.close(terminal)
    return text.decode()


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("command", [
    ("report", "last"), ("show", "peak", "last", "--by", "holder"), ("show", "holders", "last", "1"), ("show", "curve", "last"),
])  # fmt: skip
def test_lines_fit_on_a_terminal_of_80_columns(folder, command):
    text = on_terminal(recorded.TOOL, *command, cwd=folder)
    assert "\x1b[1m" in text, "a terminal has colour"
    lines = without_colour(text.replace("\r\x1b[K", "\n")).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    piped = tool(*command, cwd=folder).stdout
    assert "\x1b" not in piped
    assert "".join(piped.split()) in "".join(without_colour(text).split()), "folded, and nothing is cut off"


def test_the_status_line_has_a_row_of_its_own(folder):
    text = on_terminal(recorded.TOOL, "run", "-o", folder / "shown", "train.py", cwd=folder)
    statuses = re.findall(r"\x1b7\x1b\[30;1H\x1b\[2K([^\x1b]*)\x1b8", text)
    assert any(re.search(r"^step \d+ · \d+:\d\d · [\d.]+ \w+\b[^·]* · peak [\d.]+ \w+ · ", status) for status in statuses), text
    assert all(len(status) <= 80 for status in statuses)
    # The rest: the program's output as written, and the last message of `run`.
    rest = re.sub(r"\x1b7.*?\x1b8|\x1bD\x1b\[1A", "", text)
    lines = rest.splitlines()
    assert lines[:8] == [f"step {step}" for step in range(8)]
    assert lines[8].startswith("dc-memtrace: 1 trace in ")
    assert text.count("\x1b[1;29r") == text.count("\x1b[r") == 1, "the terminal has all of its rows again"


def test_a_reader_that_leaves_early_is_no_error(folder):
    result = subprocess.run(
        f"'{recorded.TOOL}' report last | head -n 1", shell=True, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1
