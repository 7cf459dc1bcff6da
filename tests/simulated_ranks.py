"""Programs of a rank, and a run of many ranks that is made of the traces of a few that were recorded."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sqlite3

# Keeps its outputs if its argument is true.
KEEPS = """
import sys, torch
torch.set_num_threads(1)
net = torch.nn.Linear(256, 256)
opt = torch.optim.SGD(net.parameters(), 0.1)
log = []
for step in range(8):
    out = net(torch.randn(1024, 256))
    out.square().mean().backward()
    opt.step()
    opt.zero_grad()
    if sys.argv[1] == "true":
        log.append(out)
"""


def simulate(
    folder: pathlib.Path, usual: pathlib.Path, ranks: int, others: dict[int, pathlib.Path], world_size: int | None = None
) -> pathlib.Path:
    """`folder` with a trace of each rank: a copy of `usual`, of some ranks of another trace.

    A world size beyond `ranks` leaves ranks without a trace.
    """
    folder.mkdir()
    for rank in range(ranks):
        trace = folder / f"rank{rank}.dcmt"
        shutil.copy(others.get(rank, usual), trace)
        with contextlib.closing(sqlite3.connect(trace)) as database, database:
            own = {"rank": rank, "world_size": world_size or ranks, "pid": 10_000 + rank}
            for key, value in own.items():
                database.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    return folder
