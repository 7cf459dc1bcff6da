"""Traces that are written to a local folder first, and moved to the output folder when they are finished."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import proc
import pytest
import recorded
from proc import until

# Trains until the file that its argument names is there.
PROGRAM = """
import os, pathlib, sys, time, torch
end = pathlib.Path(sys.argv[1])
kept = [torch.ones(50_000)]
print(os.getpid(), flush=True)
torch.ones(60_000)
while not end.exists():
    torch.ones(60_000)
    time.sleep(0.01)
kept.append(torch.ones(70_000))
"""

# A program whose recorder was killed waits at its end for the last reading of its memory, in vain.
WITHOUT_RECORDER = {"DC_MEMTRACE_EXIT_WAIT": "1"}


class Job:
    """A program that is recorded into `out`, with a scratch folder beside it."""

    def __init__(self, folder: pathlib.Path, *flags: object, **more: str):
        self.out, self.scratch, self.end = folder / "out", folder / "scratch", folder / "end"
        self.scratch.mkdir(exist_ok=True)
        self.end.unlink(missing_ok=True)
        (folder / "train.py").write_text(PROGRAM)
        self.run = subprocess.Popen(
            list(map(str, [recorded.TOOL, "run", "-o", self.out, *flags, "--", sys.executable, folder / "train.py", self.end])),
            env=recorded.environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pid = int(self.run.stdout.readline())

    def local(self) -> pathlib.Path:
        """The folder that has the trace meanwhile, once the trace has begun."""
        (folder,) = self.scratch.iterdir()
        until(lambda: recorded.begun(folder))
        return folder

    def finish(self) -> str:
        """What the tool printed."""
        self.end.touch()
        _, said = self.run.communicate(timeout=120)
        assert self.run.returncode == 0, said
        return said


def sizes(trace: pathlib.Path) -> set[int]:
    return {size for (size,) in recorded.query(trace, "SELECT bytes FROM block WHERE bytes >= 200000")}


def moved(job: Job) -> pathlib.Path:
    """The trace in the output folder, where nothing else is but the run's file; nothing is left in the scratch folder."""
    (trace,) = recorded.traces(job.out)
    assert sorted(os.listdir(job.out)) == sorted([trace.name, "run.json"])
    assert os.listdir(job.scratch) == []
    assert "local_folder" not in json.loads((job.out / "run.json").read_text())
    return trace


def test_a_trace_is_written_locally_moved_at_the_end_and_named_elsewhere_until_then(tmp_path):
    job = Job(tmp_path, "--scratch", tmp_path / "scratch")
    local = job.local()
    assert os.listdir(job.out) == ["run.json"]
    (live,) = recorded.report(job.out)
    assert live["path"].startswith(str(local))
    assert (local / "output").resolve() == job.out
    assert job.finish() == ""
    trace = moved(job)
    assert sizes(trace) >= {200_000, 240_000, 280_000}
    assert len(recorded.report(job.out)) == 1
    # As it looks from another machine while the trace is still on that one.
    run = json.loads((job.out / "run.json").read_text())
    run |= {"host": "node7", "boot": "another", "state": "recording", "local_folder": str(local)}
    (job.out / "run.json").write_text(json.dumps(run))
    trace.unlink()
    line = recorded.one_line(recorded.tool("report", job.out), 3)
    assert f"{trace.name} is still on node7: {local}/{trace.name}" in line


def test_a_killed_recorder_is_finished_from_the_local_folder(tmp_path):
    job = Job(tmp_path, "--scratch", tmp_path / "scratch", **WITHOUT_RECORDER)
    local = job.local()
    job.run.send_signal(signal.SIGKILL)
    job.run.wait()
    job.end.touch()
    until(lambda: not proc.is_running(job.pid))
    assert recorded.traces(local) != [] and recorded.traces(job.out) == []
    (report,) = recorded.report(job.out)
    assert report["path"].startswith(str(job.out))
    trace = moved(job)
    assert recorded.meta(trace)["state"] == "recovered"
    assert sizes(trace) >= {200_000, 240_000, 280_000}


def mounted(*command: object) -> None:
    """Mounts, or skips the test."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")


def unmount(folder: pathlib.Path) -> None:
    gc.collect()  # sqlite3 closes a trace that was queried here
    subprocess.run(["umount", folder], check=True)


def test_without_room_the_trace_stays_where_it_is_and_is_moved_later(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    mounted("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", out)
    try:
        job = Job(tmp_path, "--scratch", tmp_path / "scratch")
        (local,) = job.scratch.iterdir()
        (line,) = job.finish().splitlines()
        (trace,) = recorded.traces(local)
        assert "No space left on device" in line and line.endswith(f"It is in {trace}")
        shown = recorded.tool("report", out)
        assert shown.returncode == 0 and str(trace) in shown.stderr
        assert os.listdir(out) == ["run.json"]
        subprocess.run(["mount", "-o", "remount,size=64m", out], check=True)
        (report,) = recorded.report(out)
        assert report["path"].startswith(str(out))
        assert sizes(moved(job)) >= {200_000, 240_000, 280_000}
    finally:
        unmount(out)


@pytest.mark.skipif(shutil.which("bindfs") is None, reason="no bindfs here")
def test_a_file_system_of_fuse_needs_no_option(tmp_path):
    real, out = tmp_path / "real", tmp_path / "out"
    real.mkdir()
    out.mkdir()
    mounted("bindfs", real, out)
    try:
        job = Job(tmp_path, TMPDIR=str(tmp_path / "scratch"), SLURM_TMPDIR="")
        job.local()
        assert os.listdir(out) == ["run.json"]
        assert job.finish() == ""
        assert sizes(moved(job)) >= {200_000, 240_000, 280_000}
    finally:
        unmount(out)


def test_ranks_have_local_folders_of_their_own(tmp_path):
    ranks = [
        Job(tmp_path, "--scratch", tmp_path / "scratch", SLURM_PROCID=str(rank), SLURM_NTASKS="2", SLURM_JOB_ID="7", SLURM_STEP_ID="0")
        for rank in range(2)
    ]
    assert len(os.listdir(tmp_path / "scratch")) == 2
    for rank in ranks:
        rank.finish()
    assert [trace.name for trace in recorded.traces(tmp_path / "out")] == ["rank0.dcmt", "rank1.dcmt"]
    assert os.listdir(tmp_path / "scratch") == []


def test_an_attached_program_and_a_block_are_moved_too(tmp_path):
    job = Job(tmp_path, "--standby")
    attached = recorded.tool("attach", job.pid, "--duration", "1s", "-o", job.out, "--scratch", job.scratch)
    assert attached.returncode == 0, attached.stderr
    job.finish()
    assert sizes(moved(job)) >= {240_000}


def test_a_replaced_run_leaves_nothing_in_the_local_folder(tmp_path):
    job = Job(tmp_path, "--scratch", tmp_path / "scratch", **WITHOUT_RECORDER)
    job.local()
    job.run.send_signal(signal.SIGKILL)
    job.run.wait()
    job.end.touch()
    until(lambda: not proc.is_running(job.pid))
    done = recorded.tool("run", "--force", "-o", job.out, "--", "true")
    assert done.returncode == 0, done.stderr
    assert os.listdir(job.scratch) == [] and recorded.traces(job.out) == []


def test_a_scratch_that_is_no_folder_is_refused(tmp_path):
    done = recorded.tool("run", "-o", tmp_path / "out", "--scratch", tmp_path / "none", "--", "true")
    line = recorded.one_line(done, 125)
    assert str(tmp_path / "none") in line and "--scratch" in line
