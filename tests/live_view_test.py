"""`run --live`: the view in the last rows of a terminal, and the program's output above it."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import sys

import pytest

import recorded
import screen

# 32 MiB that stay, and 2 MiB more each step. Each line is known. It ends when a file "enough" is there.
PROGRAM = """
import os, sys, time, torch
kept = torch.ones(8 << 20)
weight = torch.ones(256, 256, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
losses = []
for step in range(int(sys.argv[1])):
    (torch.ones(256, 256) @ weight).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(torch.ones(1 << 19))
    print("step", step, flush=True)
    time.sleep(float(sys.argv[2]))
    if os.path.exists("enough"): break
print("the end, without a line end", end="", flush=True)
"""


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    (tmp_path / "grows.py").write_text(PROGRAM)
    return tmp_path


def live(folder: pathlib.Path, *arguments: object, **options) -> screen.Session:
    return screen.Session(
        recorded.TOOL, "run", "--live", "-o", folder / "out", "--", sys.executable, *arguments, cwd=folder, **options
    )  # fmt: skip


def mebibytes(text: str, after: str = "") -> float:
    return float(re.search(after + r"([\d.]+) MiB", text)[1])


def has_view(lines: list[str]) -> bool:
    return any("MiB ┤" in line for line in lines) and any("grows.py:11" in line for line in lines)


def children_of(pid: int) -> list[int]:
    return [int(each) for each in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def program_below(recorder: int) -> int:
    (program,) = [each for each in children_of(recorder) if pathlib.Path(f"/proc/{each}/cmdline").read_bytes().startswith(os.fsencode(sys.executable))]
    return program


def restored(session: screen.Session) -> bool:
    return (session.screen.top, session.screen.bottom) == (0, session.screen.rows - 1)


def written(session: screen.Session) -> list[str]:
    return [line for line in session.screen.text() if line]


def end_program(folder: pathlib.Path, session: screen.Session) -> int:
    (folder / "enough").touch()
    return session.end()


def test_the_view_has_the_bytes_and_the_output_stays_above_it(folder):
    session = live(folder, "grows.py", 10_000, 0.1)
    lines = session.until(lambda lines: has_view(lines) and "held by main.losses" in " ".join(" ".join(lines).split()))
    view = lines[12:]
    assert view[0].startswith("── step "), "half of 24 rows"
    now, peak = mebibytes(view[0], r" · "), mebibytes(view[0], "peak ")
    step = int(view[0].split()[2])
    # 32 MiB, two a step, and what weight, gradient, optimizer and the step itself have: less than 2 MiB.
    assert 32 + 2 * step <= now <= peak <= 32 + 2 * step + 4
    (plotted,) = [mebibytes(line) for line in view if "MiB ┤" in line]
    assert plotted == peak
    places = {re.sub(r" {3}\d+ blocks?$", "", line[12:]): mebibytes(line) for line in view if re.search(r"MiB [\w/]+\.py:", line)}
    name = f"{folder.name}/grows.py"
    assert places[f"{name}:3 <module>"] == 32
    assert abs(places[f"{name}:11 <module>"] - 2 * step) <= 2 * 12, "a second old, at most"
    assert end_program(folder, session) == 0
    assert restored(session)
    said = written(session)
    (end,) = [number for number, line in enumerate(said) if line.startswith("the end, without a line end")]
    assert end >= step and said[:end] == [f"step {i}" for i in range(end)]
    assert not any("──" in line or "┤" in line for line in said), "nothing is left of the view"


def test_without_a_terminal_it_is_refused(folder):
    result = recorded.tool("run", "--live", "grows.py", "1", "0", cwd=folder)
    assert recorded.one_line(result, 2).startswith("dc-memtrace: --live needs a terminal as standard error.")
    assert not (folder / "dc-memtrace-out").exists()


def test_the_terminal_may_change_its_size(folder):
    session = live(folder, "grows.py", 10_000, 0.05)
    session.until(has_view)
    session.resize(40, 100)
    lines = session.until(lambda lines: lines[24].startswith("── ") and any("grows.py:11" in line for line in lines[24:]))
    assert not any("┤" in line for line in lines[:24]), "the old rows are the program's"
    session.resize(8, 60)
    session.until(lambda lines: any(re.fullmatch(r"step ([3-9]\d|\d{3,})", line) for line in lines))
    assert end_program(folder, session) == 0 and restored(session)
    said = [line for line in written(session) if re.fullmatch(r"step \d+", line)]
    assert said == [f"step {i}" for i in range(len(said))], "nothing of the program's output is cleared"


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "crash of the program"])
def test_the_terminal_is_restored(folder, how):
    session = live(folder, "grows.py", 10_000, 0.05)
    session.until(has_view)
    if how == "Ctrl-C":
        session.type(b"\x03")
    elif how == "SIGTERM":
        os.kill(session.pid, signal.SIGTERM)
    else:
        os.kill(program_below(session.pid), signal.SIGSEGV)
    code = {"Ctrl-C": 130, "SIGTERM": 143}.get(how, 139)
    assert session.end() == code and restored(session)
    assert not any("┤" in line for line in written(session))


def test_the_terminal_is_restored_after_the_recorder_was_killed(folder):
    """From a shell, which keeps the terminal when the recorder is gone."""
    command = f"'{recorded.TOOL}' run --live -o out -- '{sys.executable}' grows.py 10000 0.05; echo back"
    session = screen.Session("/bin/sh", "-c", command, cwd=folder)
    session.until(has_view)
    (recorder,) = children_of(session.pid)
    program = program_below(recorder)
    os.kill(recorder, signal.SIGKILL)
    session.until(lambda lines: restored(session) and not any("┤" in line for line in lines))
    os.kill(program, signal.SIGKILL)
    session.end()


def test_it_has_no_colour(folder):
    session = live(folder, "grows.py", 5, 0.2, NO_COLOR="1")
    assert session.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", session.raw)
