"""attach --when: a recording that begins when memory exceeds a limit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

import proc
import recorded
from attached import NOTES, done, hooks_in
from proc import until

# Keeps 4 MiB in every fourth step once FOLDER/grow exists. Memory that it does not keep is reused.
GROWING = """
import pathlib, sys, time
import torch
folder = pathlib.Path(sys.argv[1])
torch.set_num_threads(1)
parameter = torch.nn.Parameter(torch.ones(1024, 1024))
optimizer = torch.optim.SGD([parameter], lr=1e-3)
kept = []
number = 0
while not (folder / "end").exists():
    optimizer.zero_grad()
    (parameter * 2).sum().backward()
    optimizer.step()
    number += 1
    if number % 4 == 0 and (folder / "grow").exists() and len(kept) < 100:
        kept.append(torch.ones(1024, 1024))
    if number == 5:
        print("runs", flush=True)
    time.sleep(0.03)
"""
STEP = 4 << 20


class Growing:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.process = subprocess.Popen(
            [recorded.TOOL, "run", "--standby", "--", sys.executable, "-c", GROWING, str(folder)],
            stdout=subprocess.PIPE, text=True, env=recorded.environment(),
        )  # fmt: skip
        assert self.process.stdout.readline() == "runs\n"
        self.pid = self.process.pid

    def attach(self, trace, *flags) -> subprocess.Popen:
        return subprocess.Popen(
            [recorded.TOOL, "attach", str(self.pid), "-o", trace, *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=recorded.environment(),
        )  # fmt: skip

    def rss(self) -> int:
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    def grow(self) -> None:
        (self.folder / "grow").touch()

    def end(self) -> None:
        (self.folder / "end").touch()
        assert self.process.wait(timeout=60) == 0


# One program for all tests, which grows in the last one. In scripts/soak each test has its own.
@pytest.fixture(scope="function" if recorded.ALL else "module")
def growing(tmp_path_factory):
    program = Growing(tmp_path_factory.mktemp("growing") / "program")
    try:
        yield program
        program.end()
    finally:
        program.process.kill()
        program.process.wait()


def check_windows(trace, crossed) -> None:
    """The trace contains steps before and after the crossing, and the holders of the growth."""
    assert recorded.meta(trace)["state"] == "finished" and recorded.meta(trace)["lost_deaths"] == 0
    kept = recorded.query(
        trace,
        "SELECT i.step, c.peak_bytes FROM interval i JOIN interval_curve c ON c.interval = i.id"
        " WHERE c.device = 'cpu' AND i.kept IS NOT NULL AND i.step IS NOT NULL ORDER BY i.step",
    )
    below = [step for step, peak in kept if peak <= crossed]
    above = [step for step, peak in kept if peak > crossed]
    assert len(below) >= 3 and len(above) >= 3, kept
    assert max(below) < min(above)


@recorded.for_soak
def test_allocated_is_counted_to_the_byte(tmp_path, growing):
    """On the CPU, dc-memtrace itself counts from the begin of the program: an interpreter can write on more than this."""
    limit = 60 << 20
    attached = growing.attach(tmp_path / "trace", "--when", "allocated > 60MiB", "--before", 8, "--steps", 8, "-q")
    until(lambda: recorded.begun(tmp_path / "trace"))
    growing.grow()
    done(attached)
    (trace,) = recorded.traces(tmp_path / "trace")
    check_windows(trace, limit)


def test_that_it_does_not_come_to_it(tmp_path, growing):
    attached = growing.attach(tmp_path / "trace", "--when", "rss > 1TiB")
    with pytest.raises(subprocess.TimeoutExpired):
        attached.wait(timeout=0.5)
    until(lambda: proc.blocks(attached.pid, signal.SIGINT))
    attached.send_signal(signal.SIGINT)
    _, error = attached.communicate(timeout=30)
    assert attached.returncode == 4
    assert "nothing was recorded: the wait was ended before rss > 1.0 TiB; its highest rss was" in error
    assert not list(tmp_path.glob("trace/*"))
    if not recorded.ALL:
        return
    # Recorded at once, and ended before the limit is reached.
    attached = growing.attach(tmp_path / "trace", "--when", "rss > 1TiB", "--near", 0)
    until(lambda: recorded.traces(tmp_path / "trace") and hooks_in(growing.pid))
    attached.send_signal(signal.SIGINT)
    _, error = attached.communicate(timeout=60)
    assert attached.returncode == 0 and "the recording ended before rss > 1.0 TiB" in error
    attached = growing.attach(tmp_path / "other", "--when", "rss > 1TiB")
    growing.end()
    _, error = attached.communicate(timeout=30)
    assert attached.returncode == 4 and "the process ended before" in error


def test_reserved_needs_a_gpu(tmp_path, growing):
    attached = growing.attach(tmp_path / "trace", "--when", "reserved > 1GiB")
    with pytest.raises(subprocess.TimeoutExpired):
        attached.wait(timeout=0.5)
    until(lambda: proc.blocks(attached.pid, signal.SIGINT))
    assert not hooks_in(growing.pid)
    attached.send_signal(signal.SIGINT)
    _, error = attached.communicate(timeout=30)
    assert attached.returncode == 4 and "no GPU was used" in error


def test_growth_with_the_window_before_it(tmp_path, growing):
    limit = int(growing.rss() * 1.25)
    attached = growing.attach(tmp_path / "trace", "--when", f"rss > {limit}", "-q")
    # Far from the limit, the process is only watched.
    with pytest.raises(subprocess.TimeoutExpired):
        attached.wait(timeout=1)
    assert not recorded.traces(tmp_path / "trace")
    assert "libdcmt_torch" not in open(f"/proc/{growing.pid}/maps").read()
    growing.grow()
    done(attached)
    assert hooks_in(growing.pid) == []
    (trace,) = recorded.traces(tmp_path / "trace")
    (note,) = [text for (text,) in recorded.query(trace, NOTES) if "was met in step" in text]
    assert "the process was only watched" in note
    # The allocator has what was counted: growth by 4 MiB, observed before the limit was reached.
    grown = recorded.query(
        trace,
        "SELECT c.peak_bytes FROM interval i JOIN interval_curve c ON c.interval = i.id"
        " WHERE c.device = 'cpu' AND i.step IS NOT NULL ORDER BY i.step",
    )
    assert grown[-1][0] - grown[0][0] >= 5 * STEP
    (report,) = recorded.report(tmp_path / "trace")
    assert "kept" in json.dumps(report["findings"]), report


def test_what_is_no_condition(tmp_path):
    for text in ("allocated", "memory > 3GiB", "rss < 3GiB", "rss > much"):
        result = recorded.tool("attach", 1, "--when", text, "-o", tmp_path)
        assert result.returncode == 2 and "is no condition like 'allocated > 70GiB'" in result.stderr
    assert recorded.tool("attach", 1, "--before", 3).returncode == 2
