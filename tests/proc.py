"""What /proc says of a process that runs meanwhile: whatever ends between a listing and its reading is left out."""

from __future__ import annotations

import contextlib
import os
import pathlib

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


def is_running(pid: int) -> bool:
    """One that has ended and was not waited for does not run."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except GONE:
        return False
