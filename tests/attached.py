"""Programs that are attached to while they run. For the tests of standby, attach and record."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy

import proc
import recorded
from proc import until

PROGRAM = recorded.PROGRAMS / "attached_training.py"
NOTES = "SELECT t.text FROM diagnostic d JOIN string t ON t.id = d.text"

STANDBY = (recorded.TOOL, "run", "--standby", "--")


def hooks_in(pid: int) -> list[str]:
    """Words of a program's memory outside of our libraries that contain an address in a provider.

    The program's own extension, which a test loads, does not count: the loader's data has its addresses.
    """
    ranges = []
    for each in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{pid}/smaps").read_text()):
        line = each.split("\n")[0]
        fields = line.split(maxsplit=5)
        low, high = (int(each, 16) for each in fields[0].split("-"))
        # A hook has been written.
        dirty = re.search(r"Private_Dirty:\s*(\d+)", each)[1] != "0"
        ranges.append((low, high, fields[1], fields[5] if len(fields) > 5 else "", dirty))
    no_provider = ("agent", "standby", "/tests/")
    ours = [
        each for each in ranges
        if "/libdcmt_" in each[3] and "x" in each[2] and not any(part in each[3] for part in no_provider)
    ]  # fmt: skip
    hooks = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for low, high, mode, path, dirty in ranges:
            # A driver copies parts of stacks into its own memory.
            is_file = path.startswith("/") and not path.startswith("/dev/")
            if not mode.startswith("r") or not is_file or "dcmt" in path or "x" in mode or not dirty:
                continue
            with contextlib.suppress(OSError):
                memory.seek(low)
                words = numpy.frombuffer(memory.read(high - low), dtype=numpy.uint64)
                for begin, end, _, provider, _ in ours:
                    for at in numpy.flatnonzero((words >= begin) & (words < end)):
                        target = f"{pathlib.Path(provider).name}+{int(words[at]) - begin:#x}"
                        hooks.append(f"{path} {mode} {low + 8 * int(at):#x}: {target}")
    return hooks


class Training:
    """The program in standby, stopped before each of `holds`."""

    def __init__(self, folder: pathlib.Path, steps: int, *holds: int, program: pathlib.Path = PROGRAM, start=STANDBY, **more: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.process = subprocess.Popen(
            [*start, sys.executable, program, folder, str(steps), *map(str, holds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=recorded.environment(**more),
        )  # fmt: skip
        self.pid = self.process.pid

    def at(self, step: int | str) -> None:
        until(lambda: (self.folder / f"at-{step}").exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read()

    def go(self, step: int | str) -> None:
        (self.folder / f"go-{step}").touch()

    def end(self) -> dict:
        (self.folder / "end").touch()
        out, error = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, error
        return json.loads(out)

    def ask(self, trace: pathlib.Path, *flags: object) -> subprocess.Popen:
        return subprocess.Popen(
            [recorded.TOOL, "attach", str(self.pid), "-o", trace, *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=recorded.environment(),
        )  # fmt: skip

    def attach(self, trace: pathlib.Path, *flags: object) -> subprocess.Popen:
        """Attaches, and returns when the process is recorded."""
        attached = self.ask(trace, *flags)
        until(lambda: recorded.begun(trace) or attached.poll() is not None)
        return attached

    def hooks(self) -> list[str]:
        return hooks_in(self.pid)

    def is_in_standby(self) -> bool:
        """Checks only for the thread; the socket is not asked."""
        return "dcmt-standby" in proc.threads(self.pid).values()

    def is_hooked(self) -> bool:
        return bool(self.hooks())


@contextlib.contextmanager
def training(folder: pathlib.Path, steps: int, *holds: int, **more):
    program = Training(folder, steps, *holds, **more)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.wait()


def untouched(folder: pathlib.Path, steps: int) -> dict:
    folder.mkdir()
    (folder / "end").touch()
    result = recorded.python(PROGRAM, folder, steps)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def done(attached: subprocess.Popen) -> None:
    _, error = attached.communicate(timeout=120)
    assert attached.returncode == 0, error


def figures(pid: int) -> dict[str, int]:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {
        "threads": int(re.search(r"Threads:\s*(\d+)", status)[1]),
        "resident KiB": int(re.search(r"VmRSS:\s*(\d+)", status)[1]),
        "space KiB": int(re.search(r"VmSize:\s*(\d+)", status)[1]),
        "descriptors": len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())),
        "mappings": len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()),
    }


def counted(program: Training) -> dict[int, int]:
    """The storages that the program itself found alive: addresses and bytes."""
    return {address: bytes for address, bytes in json.loads((program.folder / "counted").read_text())}


def places_of(trace: pathlib.Path, stack: int | None) -> list[tuple[str, int]]:
    """File and line of each frame, innermost first."""
    frames = """
    WITH RECURSIVE up(depth, parent, frame) AS (
      SELECT 0, parent, frame FROM stack WHERE id = ?
      UNION ALL SELECT depth + 1, s.parent, s.frame FROM stack s JOIN up ON s.id = up.parent)
    SELECT f.text, frame.line FROM up JOIN frame ON frame.id = up.frame JOIN string f ON f.id = frame.file ORDER BY depth
    """
    return recorded.query(trace, frames, stack)


def by_import() -> dict:
    """The arguments for a program that puts itself in standby."""
    path = os.pathsep.join([str(recorded.TOOL.parent), recorded.environment()["PATH"]])
    return {"start": (), "ATTACHED_IMPORTS": "1", "PATH": path}


def assert_alive(trace: pathlib.Path, own: dict[int, int], detail: str) -> None:
    smallest = 64 << 10 if detail == "lifetimes" else 1
    large = {address: bytes for address, bytes in own.items() if bytes >= smallest}
    rows = recorded.query(trace, "SELECT address, bytes FROM block WHERE to_seq IS NULL AND bytes >= ?", smallest)
    assert dict(rows) == large and len(rows) == len(large)
    storages = "FROM storage s JOIN block b ON b.storage = s.id WHERE s.to_seq IS NULL AND s.bytes >= ?"
    assert dict(recorded.query(trace, f"SELECT b.address, s.bytes {storages}", smallest)) == large
    # Together with the storages that are only in sums, this is torch's own figure.
    assert recorded.query(trace, "SELECT sum(bytes) FROM block WHERE to_seq IS NULL") == [(sum(own.values()),)]
    assert recorded.meta(trace)["lost_deaths"] == 0
