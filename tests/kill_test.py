"""A job killed at any moment leaves a trace that opens, with nothing lost that was published.

DCMT_KILL_RUNS says how often one is killed; twenty times without it.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import threading
import time

import pytest
import recorded

RUNS = int(os.environ.get("DCMT_KILL_RUNS", "20"))
PROGRAM = recorded.PROGRAMS / "endless_training.py"


def start(folder: pathlib.Path, *options: str) -> subprocess.Popen:
    return subprocess.Popen(
        [recorded.TOOL, "run", "-o", folder, *options, "--", sys.executable, PROGRAM],
        env=recorded.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def job_of(run: subprocess.Popen) -> int:
    """The program prints its pid once it is training."""
    return int(run.stdout.readline())


def check_complete(trace: pathlib.Path) -> None:
    assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
    meta = recorded.meta(trace)
    threads = recorded.query(trace, "SELECT count(*) FROM thread")[0][0]
    lost = dict(recorded.query(trace, "SELECT reason, sum(count) FROM loss GROUP BY reason"))
    # A sequence that was taken by a thread killed before its record was complete: one a thread at most.
    assert lost.pop("in_flight", 0) <= threads
    assert not lost
    assert meta["records"] + dict(recorded.query(trace, "SELECT reason, sum(count) FROM loss GROUP BY reason")).get(
        "in_flight", 0
    ) == meta["last_seq"]


@pytest.mark.parametrize("attempt", range(RUNS))
def test_killed_at_a_random_moment(tmp_path, attempt):
    moment = random.Random(attempt).uniform(0.0, 1.5)
    with start(tmp_path / "out", "--detail", "full") as run:
        job = job_of(run)
        time.sleep(moment)
        os.kill(job, signal.SIGKILL)
        assert run.wait(60) == 128 + signal.SIGKILL
    (trace,) = recorded.traces(tmp_path / "out")
    check_complete(trace)
    assert recorded.meta(trace)["exit"] == f"signal {signal.SIGKILL:d}"
    assert recorded.tool("report", trace).returncode == 0


def published_sequences(spool: pathlib.Path) -> int:
    """The highest sequence published in a spool, read here by its description in trace/spool/README.md."""
    data = spool.read_bytes()
    chunks, chunk_bytes = struct.unpack_from("<IQ", data, 12)
    first = (4096 + chunks * 64 + 4095) & ~4095
    highest = 0
    for chunk in range(chunks):
        committed = struct.unpack_from("<I", data, 4096 + chunk * 64 + 8)[0]
        position = first + chunk * chunk_bytes
        end = position + committed
        while position < end:
            _, words, _, seq = struct.unpack_from("<HHIQ", data, position)
            highest = max(highest, seq)
            position += words * 8
    return highest


def test_a_killed_recorder_is_continued_by_report(tmp_path):
    folder = tmp_path / "out"
    with start(folder) as run:
        job = job_of(run)
        time.sleep(0.7)
        run.kill()
        run.wait()
        state = recorded.json.loads((folder / "run.json").read_text())
        (spool,) = pathlib.Path(state["spool_folder"]).glob("*.spool")

        busy = recorded.tool("report", folder)
        assert busy.returncode == 0 and f"{job} still runs" in busy.stderr

        time.sleep(0.3)
        os.kill(job, signal.SIGKILL)
        while pathlib.Path(f"/proc/{job}/status").exists():
            if "State:\tZ" in pathlib.Path(f"/proc/{job}/status").read_text():
                break
            time.sleep(0.02)
    published = published_sequences(spool)
    assert recorded.tool("report", folder).returncode == 0
    (trace,) = recorded.traces(folder)
    check_complete(trace)
    assert recorded.meta(trace)["state"] == "recovered"
    assert recorded.meta(trace)["last_seq"] == published
    assert not spool.exists()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_job_and_the_trace_is_finished(tmp_path, sent):
    with start(tmp_path / "out") as run:
        job_of(run)
        time.sleep(0.3)
        threading.Timer(0.0, run.send_signal, [sent]).start()
        # Python turns SIGINT into KeyboardInterrupt and then dies of the signal.
        assert run.wait(60) == 128 + sent
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.meta(trace)["state"] == "finished"
    check_complete(trace)
