"""What /proc says of a process that runs meanwhile: whatever ends between a listing and its reading is left out."""

from __future__ import annotations

import contextlib
import os
import pathlib
import time

GONE = (FileNotFoundError, ProcessLookupError)


def open_files(pid: int) -> list[str]:
    """What its descriptors lead to."""
    files = []
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(*GONE):
            files.append(os.readlink(descriptor))
    return files


def threads(pid: int) -> dict[int, str]:
    """The names of its threads, by their numbers."""
    names = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(*GONE):
            names[int(task.name)] = (task / "comm").read_text().rstrip("\n")
    return names


def children(pid: int) -> dict[int, str]:
    """The programs that its children run, by their numbers; a child that has ended and was not waited for runs none."""
    programs = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(*GONE):
            programs[int(child)] = os.readlink(f"/proc/{child}/exe")
    return programs


def bytes_read(pid: int) -> int:
    """By all of its reads so far, of files and of what else there is to be read."""
    return int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[1])


def bytes_written(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[3])


def blocks(pid: int, signal: int) -> bool:
    """A program that takes this signal by a descriptor does from its begin on."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(mask, 16) >> (signal - 1) & 1)


def state(pid: int) -> str:
    """The kernel's letter: R runs, S sleeps, T is stopped, Z has ended and was not waited for; X is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except GONE:
        return "X"


def is_running(pid: int) -> bool:
    """One that has ended and was not waited for does not run."""
    return state(pid) not in "ZX"


def until(condition, seconds: float = 180) -> None:
    """Waits for it. The time is for what never comes: a busy machine takes long over anything."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.01)
