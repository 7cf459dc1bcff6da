"""Reads /proc of a running process. What ends between a listing and its reading is omitted."""

from __future__ import annotations

import contextlib
import os
import pathlib
import time

GONE = (FileNotFoundError, ProcessLookupError)


def open_files(pid: int) -> list[str]:
    """The files of its descriptors."""
    files = []
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(*GONE):
            files.append(os.readlink(descriptor))
    return files


def threads(pid: int) -> dict[int, str]:
    """The names of its threads by number."""
    names = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(*GONE):
            names[int(task.name)] = (task / "comm").read_text().rstrip("\n")
    return names


def children(pid: int) -> dict[int, str]:
    """The programs of its children by number. A zombie has no program."""
    programs = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(*GONE):
            programs[int(child)] = os.readlink(f"/proc/{child}/exe")
    return programs


def mapped(pid: int) -> int:
    """The bytes of its address space."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def bytes_read(pid: int) -> int:
    """The bytes of all its reads so far, from files and anything else."""
    return int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[1])


def bytes_written(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[3])


def blocks(pid: int, signal: int) -> bool:
    """True if the process blocks the signal. A program that receives it by a descriptor does so from its begin on."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(mask, 16) >> (signal - 1) & 1)


def state(pid: int) -> str:
    """The kernel's letter: R runs, S sleeps, T is stopped, Z is a zombie; X has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except GONE:
        return "X"


def is_running(pid: int) -> bool:
    """False for a zombie."""
    return state(pid) not in "ZX"


def until(condition, seconds: float = 180) -> None:
    """Waits for the condition. The limit only detects hangs: on a busy machine everything may be slow."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.01)
