"""Limits met at size: very many keys, keys on one buffer, threads and small tensors. No verdict is wrong, the trace has
few notes, and the recorder's memory stays in its bound and flat.

With DCMT_MANY=1 as many as the product promises; without it fewer.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import recorded

ALL = os.environ.get("DCMT_MANY") == "1"
BOUND_KIB = 256 * 1024
GROWTH_KIB = 16 * 1024
PROGRAM = recorded.PROGRAMS / "many.py"


def record(folder: pathlib.Path, *command: object, options: tuple = ()) -> tuple[str, list[int]]:
    """Returns the command's output, and the recorder's resident memory in KiB over time, including its mapped spool."""
    run = subprocess.Popen(
        [recorded.TOOL, "run", "-o", folder, *options, "--", *map(str, command)],
        env=recorded.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    memory = []
    while True:
        status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
        memory += [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
        try:
            out, err = run.communicate(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
        assert (run.returncode, err) == (0, "")
        print(f"recorder: {max(memory) // 1024} MiB at most, {memory[len(memory) // 2] // 1024} MiB half-way")
        return out, memory


def check_flat(memory: list[int]) -> None:
    """Nothing remains of objects that are made and ended repeatedly. A short run shows little: its spool becomes resident."""
    quarter = len(memory) // 4
    if ALL:
        assert max(memory[3 * quarter :]) - max(memory[quarter : 2 * quarter]) <= GROWTH_KIB


def check(folder: pathlib.Path, memory: list[int]) -> pathlib.Path:
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "SELECT count(*) FROM diagnostic")[0][0] <= 2
    assert max(memory) <= BOUND_KIB
    return trace


@pytest.mark.parametrize(("kind", "count"), [("keys", 47_000 if ALL else 17_000), ("one", 300)])
def test_keys(tmp_path, kind, count):
    out, memory = record(tmp_path / "out", sys.executable, PROGRAM, kind, count)
    made = json.loads(out)
    trace = check(tmp_path / "out", memory)
    assert recorded.query(trace, "SELECT sum(count) FROM loss") == [(None,)]
    (report,) = recorded.report(tmp_path / "out")
    found = report["releases"]
    kept = found["late"] + found["never"]
    assert (found["total"], found["freed"], kept) == (made["releases"], made["releases"] - made["kept"], made["kept"])
    residual = recorded.query(trace, "SELECT count(*), count(DISTINCT key) FROM release WHERE bytes_settled > 0")
    assert residual == [(made["kept"], made["kept"] // (2 if kind == "keys" else 1))]


def test_threads(tmp_path):
    count = 100_000 if ALL else 4_000
    out, memory = record(tmp_path / "out", recorded.BUILD / "bin" / "life", "threads", count)
    assert out == f"{count} threads\n"
    check_flat(memory)
    trace = check(tmp_path / "out", memory)
    assert recorded.query(trace, "SELECT sum(count) FROM loss") == [(None,)]
    assert recorded.query(trace, "SELECT count(*) FROM thread")[0][0] >= count


def test_small_tensors(tmp_path):
    count = 4_000_000 if ALL else 50_000
    out, memory = record(tmp_path / "out", sys.executable, PROGRAM, "tensors", count, options=("--detail", "full"))
    assert json.loads(out) == {"tensors": count}
    check_flat(memory)
    trace = check(tmp_path / "out", memory)
    # Without steps, a quick program can outrun its recorder. Records that did not fit are counted.
    births = recorded.query(trace, "SELECT count(*) FROM storage WHERE bytes = 16")[0][0]
    lost = recorded.query(trace, "SELECT coalesce(sum(count), 0) FROM loss")[0][0]
    assert births >= count if lost == 0 else births < count <= births + lost
