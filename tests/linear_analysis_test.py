"""The work of a report grows with the trace, not with its square: a test of instructions, which are the same on a busy
machine."""

from __future__ import annotations

import math
import pathlib
import re
import resource
import sqlite3
import subprocess

import pytest
import recorded

SQL = recorded.ROOT / "trace" / "sql"
SIZES = (250, 500, 1000, 2000)
LARGEST_EXPONENT = 1.2


class Trace:
    """A trace written by hand: one thread, a microsecond between records."""

    def __init__(self, path: pathlib.Path) -> None:
        self.database = sqlite3.connect(path)
        versions = sorted(SQL.glob("[0-9][0-9][0-9][0-9].sql"))
        for version in versions:
            self.database.executescript(version.read_text())
        self.database.execute(f"PRAGMA application_id = {0x44434D54}")
        self.database.execute(f"PRAGMA user_version = {len(versions)}")
        self.seq = 0
        self.ordinal = 0
        self.strings: dict[str, int] = {}

    def moment(self) -> int:
        self.seq += 1
        return self.seq

    def insert(self, table: str, **values: object) -> None:
        columns = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self.database.execute(f"INSERT INTO {table}({columns}) VALUES({marks})", tuple(values.values()))

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.insert("string", id=self.strings[text], text=text)
        return self.strings[text]

    def lifetime(self, table: str, start: int, length: int | None, **values: object) -> None:
        ns = None if length is None else length * 1000
        self.insert(table, id=start, late=0, seq_length=length, from_ns=start * 1000, ns_length=ns, thread=0, **values)

    def mark(self, start: int, end: int, kind: str, **values: object) -> None:
        times = {"from_seq": start, "to_seq": end, "from_ns": start * 1000, "to_ns": end * 1000}
        self.insert("mark", id=start, kind=kind, thread=0, **times, **values)

    def release(self, at: int, key: int, storage: int, settled: int, size: int) -> None:
        name = self.string("m::release")
        sizes = {"bytes": 1024, "bytes_after": size, "bytes_settled": size}
        when = {"settled_seq": settled, "settled_ns": settled * 1000, "ordinal": self.ordinal}
        key_of = {"graph": 0, "key": key, "storage": storage, "declared": 1, "remaining": 0, "flags": "final"}
        self.mark(at, at + 1, "release", name=name, **key_of, **sizes, **when)

    def gather(self, at: int, key: int, storage: int) -> None:
        self.mark(at, at, "gather", name=self.string("m::gather"), graph=0, key=key, storage=storage, bytes=1024)

    def save(self) -> None:
        ends = {"start_ns": 1, "end_ns": self.seq * 1000, "last_seq": self.seq, "records": self.seq}
        for key, value in {"state": "finished", "exit": "exit 0", "detail": "full", "pid": 1, **ends}.items():
            self.database.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
        self.database.commit()
        self.database.close()


def one_storage_for_the_run(trace: Trace, cycles: int, *, kept: bool = False) -> None:
    """A parameter of FSDP2: its storage lives as long as the run and is resized up and to 0 in each cycle. `kept`: every
    release is followed by an operator before the bytes go."""
    storage = trace.moment()
    trace.lifetime("storage", storage, None, address=4096, bytes=0, first_seen=0)
    for _ in range(cycles):
        block = trace.moment()
        trace.mark(up := trace.moment(), up, "resize", storage=storage, bytes=1024)
        trace.gather(trace.moment(), 0, storage)
        release, _, settled, down = (trace.moment() for _ in range(4))
        trace.release(release, 0, storage, settled, 1024 if kept else 0)
        trace.mark(down, down, "resize", storage=storage, bytes=0)
        trace.lifetime("block", block, down - block, address=64, bytes=1024, storage_back=block - storage)
        trace.mark(step := trace.moment(), step, "step", value=step)


def one_storage_kept_past_each_release(trace: Trace, cycles: int) -> None:
    one_storage_for_the_run(trace, cycles, kept=True)


def storages_that_never_go(trace: Trace, cycles: int) -> None:
    """Released, and alive to the end of the trace: the operators until then are counted for each."""
    for key in range(cycles):
        storage, block, gather, release, _, settled = (trace.moment() for _ in range(6))
        trace.lifetime("storage", storage, None, address=storage, bytes=1024, first_seen=0)
        trace.lifetime("block", block, None, address=block, bytes=1024, storage_back=block - storage)
        trace.gather(gather, key, storage)
        trace.release(release, key, storage, settled, 1024)
        for _ in range(20):
            start = trace.moment()
            trace.ordinal += 1
            trace.lifetime(
                "operator", start, 1, name=trace.string("aten::mm"), scope_code=0, ordinal=trace.ordinal
            )
            trace.moment()


def one_block_for_the_run(trace: Trace, cycles: int) -> None:
    """A buffer that is never resized: each release of it is a gap in the life of one block."""
    storage, block = (trace.moment() for _ in range(2))
    trace.lifetime("storage", storage, None, address=4096, bytes=1024, first_seen=0)
    trace.lifetime("block", block, None, address=64, bytes=1024, storage_back=block - storage)
    for _ in range(8 * cycles):
        trace.gather(trace.moment(), 0, storage)
        release, _, settled = (trace.moment() for _ in range(3))
        trace.release(release, 0, storage, settled, 1024)
        trace.mark(step := trace.moment(), step, "step", value=step)


def instructions(tmp_path: pathlib.Path, *arguments: object) -> int:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={tmp_path / 'counts'}"]
    command += [recorded.TOOL, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=180, env=recorded.environment())
    assert result.returncode == 0, result.stderr
    return int(re.search(r"I +refs: +([\d,]+)", result.stderr)[1].replace(",", ""))


@pytest.mark.parametrize(
    "write",
    [one_storage_for_the_run, one_storage_kept_past_each_release, one_block_for_the_run, storages_that_never_go],
)
def test_a_report_grows_with_the_trace(tmp_path, write):
    work = []
    for size in (1, *SIZES):
        path = tmp_path / f"{size}.dcmt"
        trace = Trace(path)
        write(trace, size)
        trace.save()
        work.append(instructions(tmp_path, "report", path))
    nothing, *work = work
    # From the first size to the last: how threads share the work moves a single count by a tenth.
    exponent = math.log2((work[-1] - nothing) / (work[0] - nothing)) / math.log2(SIZES[-1] / SIZES[0])
    assert exponent <= LARGEST_EXPONENT, (nothing, work)


def released_under_many_frames(trace: Trace, releases: int, frames: int = 40) -> None:
    """Each release is called from as many functions: to print them all, no more than a few may be held at a time."""
    for frame in range(1, frames + 1):
        names = {"file": trace.string(f"/home/user/model/block_{frame}.py"), "function": trace.string(f"forward_{frame}")}
        trace.insert("frame", id=frame, line=frame, **names)
        trace.insert("stack", id=frame, parent=frame - 1 or None, frame=frame)
    for number in range(releases):
        storage, block, gather, release, _, settled, end = (trace.moment() for _ in range(7))
        trace.lifetime("storage", storage, end - storage, address=storage, bytes=1024, first_seen=0)
        of_storage = {"bytes": 1024, "storage_back": block - storage, "stack": frames, "free_stack": frames}
        trace.lifetime("block", block, end - block, address=block, **of_storage)
        trace.gather(gather, number % 100, storage)
        trace.release(release, number % 100, storage, settled, 1024)
    trace.database.execute("UPDATE mark SET stack = ?", (frames,))


@pytest.mark.parametrize("command", ["report", "show releases"])
def test_text_of_releases_takes_little_memory(tmp_path, command):
    trace = Trace(tmp_path / "t.dcmt")
    released_under_many_frames(trace, 10_000)
    trace.save()
    most = 128 << 20
    done = recorded.tool(
        *command.split(), tmp_path / "t.dcmt", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    )
    assert done.returncode == 0, done.stderr
    assert "10,000" in done.stdout
