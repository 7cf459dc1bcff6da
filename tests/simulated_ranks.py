"""A run of many ranks, made of the traces of a few that were recorded."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sqlite3


def simulate(folder: pathlib.Path, usual: pathlib.Path, ranks: int, others: dict[int, pathlib.Path]) -> pathlib.Path:
    """`folder` with a trace of each rank: a copy of `usual`, of some ranks of another trace."""
    folder.mkdir()
    for rank in range(ranks):
        trace = folder / f"rank{rank}.dcmt"
        shutil.copy(others.get(rank, usual), trace)
        with contextlib.closing(sqlite3.connect(trace)) as database, database:
            own = {"rank": rank, "world_size": ranks, "pid": 10_000 + rank}
            for key, value in own.items():
                database.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    return folder
