"""Attaching to a training on a GPU: what is recorded from then on, and that it trains as if nobody had come."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import pytest
import recorded
from attached import NOTES, done, hooks_in
from proc import until

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "attached_cuda.py"
CYCLES = int(os.environ.get("DCMT_ATTACH_CYCLES", "10"))
ENVIRONMENT = recorded.environment(CUBLAS_WORKSPACE_CONFIG=":4096:8")


@contextlib.contextmanager
def training(folder, *start):
    folder.mkdir()
    process = subprocess.Popen([*start, sys.executable, PROGRAM, folder], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        until(lambda: (folder / "stats").exists() or process.poll() is not None)
        assert process.poll() is None
        yield process
    finally:
        process.kill()
        process.wait()


def end(folder, process) -> dict:
    (folder / "end").touch()
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(out)


def attach(process, *arguments):
    result = recorded.tool("attach", process.pid, "-q", *arguments)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("start", [("run", "--standby", "--"), ()], ids=["standby", "entered"])
def test_steps_in_the_middle(tmp_path, start):
    folder = tmp_path / "program"
    with training(folder, *((recorded.TOOL, *start) if start else ())) as process:
        attach(process, "--steps", 3, "-o", tmp_path / "trace", "--detail", "full")
        assert hooks_in(process.pid) == []
        (trace,) = recorded.traces(tmp_path / "trace")
        meta = recorded.meta(trace)
        assert (meta["state"], meta["exit"], meta["lost_deaths"]) == ("finished", "still running", 0)
        assert "torch's own counter differs" not in str(recorded.query(trace, NOTES))
        blocks = recorded.query(trace, "SELECT count(*), count(stack) FROM block WHERE device = 'cuda:0'")
        assert blocks[0][0] > 0 and blocks[0][1] > 0
        # What the allocator has reserved is its own figure, with what was there before.
        stats = json.loads((folder / "stats").read_text())
        reserved = recorded.query(trace, "SELECT max(reserved_peak_bytes) FROM interval_curve WHERE device = 'cuda:0'")
        assert reserved == [(stats["reserved"],)]
        end(folder, process)


@pytest.mark.parametrize("detail", ["full", "lifetimes"])
def test_what_was_there_before_is_in_the_trace(tmp_path, detail):
    """At one place of the program, the blocks and their sum are those of torch's allocator."""
    folder = tmp_path / "program"
    with training(folder) as process:
        (folder / "grow").touch()
        until(lambda: json.loads((folder / "stats").read_text())["allocated"] > 1 << 30)
        attached = subprocess.Popen(
            [recorded.TOOL, "attach", str(process.pid), "-q", "-o", tmp_path / "trace", "--detail", detail],
            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip
        until(lambda: any("there before" in str(recorded.query(each, NOTES)) for each in recorded.begun(tmp_path / "trace"))
              or attached.poll() is not None)
        (folder / "pause").touch()
        until(lambda: (folder / "blocks").exists())
        assert recorded.tool("detach", process.pid).returncode == 0
        done(attached)
        (folder / "pause").unlink()
        end(folder, process)
    (trace,) = recorded.traces(tmp_path / "trace")
    there = json.loads((folder / "blocks").read_text())
    assert there["allocated"] == sum(size for _, size in there["blocks"]) > 1 << 30
    alive = recorded.query(trace, "SELECT address, bytes, from_seq FROM block WHERE device = 'cuda:0' AND to_seq IS NULL")
    assert sum(size for _, size, _ in alive) == there["allocated"]
    first = int(recorded.meta(trace)["first_seq"])
    assert sum(size for _, size, seq in alive if seq < first) > 1 << 30, "most was there before"
    followed = 1 if detail == "full" else 1 << 16
    listed = {(address, size) for address, size, _ in alive if size >= followed}
    assert listed == {(address, size) for address, size in there["blocks"] if size >= followed}
    segments = recorded.query(trace, "SELECT address, bytes, from_seq FROM segment WHERE to_seq IS NULL")
    assert {each[:2] for each in segments} == ({tuple(each) for each in there["segments"]} if detail == "full" else set())
    assert detail != "full" or {seq for _, _, seq in segments} >= {0}, "most was there before"
    # Storages from before lie on them, and their holder is found by reading.
    live = recorded.tool("show", "live", "--at", "end", "--json", trace)
    assert live.returncode == 0 and "kept" in live.stdout, live.stdout[:4000]
    assert "blocks of GPUs" in str(recorded.query(trace, NOTES))


def test_when_reserved_memory_passes_a_size(tmp_path):
    folder = tmp_path / "program"
    with training(folder) as process:
        limit = json.loads((folder / "stats").read_text())["reserved"] + (256 << 20)
        attached = subprocess.Popen(
            [recorded.TOOL, "attach", str(process.pid), "-q", "-o", tmp_path / "trace", "--when", f"reserved > {limit}"],
            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip
        until(lambda: recorded.traces(tmp_path / "trace") or attached.poll() is not None)
        (folder / "grow").touch()
        done(attached)
        (trace,) = recorded.traces(tmp_path / "trace")
        assert "was met in step" in str(recorded.query(trace, NOTES))
        curve = recorded.query(
            trace,
            "SELECT reserved_end_bytes FROM interval i JOIN interval_curve c ON c.interval = i.id"
            " WHERE c.device = 'cuda:0' AND i.step IS NOT NULL AND reserved_end_bytes IS NOT NULL ORDER BY i.step",
        )
        reserved = [value for (value,) in curve]
        assert sum(each <= limit for each in reserved) >= 3 and sum(each > limit for each in reserved) >= 3, reserved
        end(folder, process)


def test_it_is_as_if_nobody_had_come(tmp_path):
    folder = tmp_path / "program"
    with training(folder) as process:
        for number in range(CYCLES):
            detail = ("full", "lifetimes")[number % 2]
            trace = tmp_path / f"trace{number}"
            attach(process, "--steps", 2, "-o", trace, "--detail", detail, *(["--no-owners"] if number % 4 else []))
            assert hooks_in(process.pid) == []
            (each,) = recorded.traces(trace)
            # The allocator's trace stays attached after the first `full`; `lifetimes` has no segments all the same.
            segments = recorded.query(each, "SELECT count(*) FROM segment")[0][0]
            assert (segments > 0) == (detail == "full")
        result = end(folder, process)
    plain = tmp_path / "plain"
    plain.mkdir()
    untouched = recorded.python(PROGRAM, plain, len(result["losses"]), env=ENVIRONMENT)
    assert untouched.returncode == 0, untouched.stderr
    assert json.loads(untouched.stdout) == result
