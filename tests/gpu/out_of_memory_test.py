"""A CUDA allocation that fails: ten lines at once that name what is held, and what would have had to be gone."""

from __future__ import annotations

import json
import sys

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "out_of_memory.py"
MIB = 1024 * 1024
HELD = 512 * MIB
PIECE = 64 * MIB
LINE = next(
    number
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if line.strip() == "kept = gather(arguments.device)"
)


def run(folder, detail: str, *arguments: str):
    command = ("run", "-o", folder, "--detail", detail, "--", sys.executable, PROGRAM, "cuda", *arguments)
    return recorded.tool(*command)


def live_bytes(trace, seq: int) -> int:
    return recorded.query(
        trace,
        "SELECT sum(bytes) FROM block WHERE device = 'cuda:0' AND from_seq <= ? AND (to_seq IS NULL OR to_seq > ?)",
        seq,
        seq,
    )[0][0]


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_the_held_tensor_is_named(detail, tmp_path):
    plain = recorded.python(PROGRAM, "cuda")
    done = run(tmp_path / "out", detail)
    assert done.returncode == plain.returncode == 1
    assert "OutOfMemoryError" in plain.stderr
    assert "OutOfMemoryError" in done.stderr

    lines = done.stderr.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("dc-memtrace: out of memory on cuda:0"))
    end = next(i for i, line in enumerate(lines) if line.startswith("  next dc-memtrace show live"))
    text = "\n".join(lines[begin : end + 1])
    assert end - begin < 10
    assert "64.0 MiB asked for by aten::empty at programs/out_of_memory.py" in lines[begin]
    assert "512.0 MiB of it is released and still held, by 1 storage: with it gone, the request fits" in text
    assert f"main: kept   programs/out_of_memory.py:{LINE}   kept = gather(arguments.device)" in text

    (trace,) = recorded.traces(tmp_path / "out")
    ((seq, requested, allocated, reserved, free, total),) = recorded.query(
        trace, "SELECT id, requested, allocated, reserved, free, total FROM oom"
    )
    assert requested == PIECE
    # Torch's own count at that time is what the recorder has counted.
    assert allocated == live_bytes(trace, seq)
    assert allocated <= reserved <= total - free
    (report,) = recorded.report(tmp_path / "out")
    finding = report["findings"][0]
    assert finding["rule"] == "out_of_memory"
    (error,) = finding["out_of_memory"]
    assert error["dead_bytes"] == HELD
    assert error["cause"] == "held"
    assert error["fits_without_dead"]
    assert not error["went_on"]


def test_a_program_that_goes_on(tmp_path):
    done = run(tmp_path / "out", "lifetimes", "--catch", "--drop", "--times", "2")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout.splitlines()[-1])
    assert len(printed["errors"]) == 2
    assert all("CUDA out of memory" in error for error in printed["errors"])
    (report,) = recorded.report(tmp_path / "out")
    (finding,) = report["findings"]
    assert [error["went_on"] for error in finding["out_of_memory"]] == [True, True]
    assert [error["dead_bytes"] for error in finding["out_of_memory"]] == [0, 0]
    shown = recorded.tool("show", "live", tmp_path / "out", "--at", "oom#2", "--json")
    assert shown.returncode == 0, shown.stderr
    (trace,) = json.loads(shown.stdout)["traces"]
    assert trace["device"] == "cuda:0"
    assert trace["bytes"] == finding["out_of_memory"][1]["allocated_bytes"]
