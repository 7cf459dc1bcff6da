"""Traces written by hand, of any size."""

from __future__ import annotations

import pathlib
import sqlite3

import recorded


class Trace:
    """A trace written by hand: one thread, a microsecond between records."""

    def __init__(self, path: pathlib.Path) -> None:
        self.database = sqlite3.connect(path)
        # A test does not outlive its machine, and a wait for the disk is longer than the work.
        self.database.execute("PRAGMA synchronous = OFF")
        self.database.executescript(recorded.schema_sql())
        self.seq = 0
        self.ordinal = 0
        self.strings: dict[str, int] = {}

    def next_seq(self) -> int:
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

    def save(self, **meta: object) -> None:
        ends = {"start_ns": 1, "end_ns": self.seq * 1000, "last_seq": self.seq, "records": self.seq}
        for key, value in {"state": "finished", "exit": "exit 0", "detail": "full", "pid": 1, **ends, **meta}.items():
            self.database.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
        self.database.commit()
        self.database.close()


def fsdp2(trace: Trace, steps: int, parameters: int, *, kept: bool = False) -> None:
    """Parameters of FSDP2: their storages live as long as the run and are resized up and to 0 in each step. `kept`: every
    release is followed by an operator before the bytes go."""
    storages = [trace.next_seq() for _ in range(parameters)]
    for storage in storages:
        trace.lifetime("storage", storage, None, address=4096 * storage, bytes=0, first_seen=0)
    for _ in range(steps):
        for key, storage in enumerate(storages):
            block = trace.next_seq()
            trace.mark(up := trace.next_seq(), up, "resize", storage=storage, bytes=1024)
            trace.gather(trace.next_seq(), key, storage)
            release, _, settled, down = (trace.next_seq() for _ in range(4))
            trace.release(release, key, storage, settled, 1024 if kept else 0)
            trace.mark(down, down, "resize", storage=storage, bytes=0)
            trace.lifetime("block", block, down - block, address=64, bytes=1024, storage_back=block - storage)
        trace.mark(step := trace.next_seq(), step, "step", value=step)
