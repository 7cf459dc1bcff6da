"""A recorder that dies, sleeps or cannot write, and limits that leave little room: the job never notices."""

from __future__ import annotations

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import life_safety
import pytest
import recorded
from life_safety import FOLDER, LIFE, the_trace, watched

# Longer than any pause of a job that waits for nothing, shorter than what it would wait for a recorder that sleeps.
PAUSE_MS = 1500


def start(folder: pathlib.Path, milliseconds: int, *options: str) -> tuple[subprocess.Popen, int]:
    """A job that makes tensors for so long; returns the recorder and the job's pid."""
    run = subprocess.Popen(
        [recorded.TOOL, "run", "-o", folder, *options, "--", LIFE, "keep_going", str(milliseconds)],
        env=recorded.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    return run, int(run.stdout.readline())


def test_a_recorder_that_is_stopped(tmp_path):
    """For longer than the smallest spool lasts."""
    run, _ = start(tmp_path / "out", 4000, "--spool-mib", "1")
    with run:
        time.sleep(0.5)
        run.send_signal(signal.SIGSTOP)
        time.sleep(2.5)
        run.send_signal(signal.SIGCONT)
        out, err = run.communicate(timeout=life_safety.WATCHDOG)
    made, longest = map(int, out.split())
    assert (run.returncode, err) == (0, "")
    assert longest < PAUSE_MS, "the job waited for its recorder"
    trace = the_trace(tmp_path / "out")
    lost = life_safety.lost(trace)
    assert lost > 0
    meta = recorded.meta(trace)
    assert meta["records"] == meta["last_seq"], "what found no room takes no sequence"
    assert 0 < life_safety.blocks(trace) < made
    # Recorded on both sides of the sleep.
    first, last = recorded.query(trace, "SELECT min(from_ns), max(from_ns) FROM block WHERE bytes = 100000")[0]
    assert last - first > 2.5e9
    assert "lost" in recorded.tool("report", trace).stdout


def test_a_recorder_that_is_killed(tmp_path):
    folder = tmp_path / "out"
    run, job = start(folder, 2500)
    with run:
        time.sleep(0.5)
        run.kill()
        out, err = run.communicate(timeout=life_safety.WATCHDOG)
    made, longest = map(int, out.split())
    assert made > 0 and longest < PAUSE_MS and err == ""
    while pathlib.Path(f"/proc/{job}").exists():
        time.sleep(0.05)
    assert recorded.tool("report", folder).returncode == 0
    trace = the_trace(folder)
    assert recorded.meta(trace)["state"] == "recovered"
    assert 0 < life_safety.blocks(trace) <= made


def test_a_recorder_that_gets_no_more_memory(tmp_path):
    """Whether that ends the recording or not, the job has its output and its exit code."""
    run, _ = start(tmp_path / "out", 2500, "--detail", "full")
    with run:
        time.sleep(0.3)
        resource.prlimit(run.pid, resource.RLIMIT_AS, (1, 1))
        out, err = run.communicate(timeout=life_safety.WATCHDOG)
    made, longest = map(int, out.split())
    assert run.returncode == 0 and made > 0 and longest < PAUSE_MS
    assert re.search(r"recording (of process \d+ )?stopped", err), err
    assert recorded.tool("report", tmp_path / "out").returncode == 0
    assert 0 < life_safety.blocks(the_trace(tmp_path / "out")) <= made


def limited(what: int, limit: int):
    def apply() -> None:
        resource.setrlimit(what, (limit, limit))

    return apply


def test_a_small_limit_of_file_sizes(tmp_path):
    """The spool would be larger than the job may write: making it would end the job by SIGXFSZ."""
    result = watched(
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", LIFE, "make", 3,
        preexec_fn=limited(resource.RLIMIT_FSIZE, 16 << 20),
    )  # fmt: skip
    assert result.stdout == "3\n"
    assert "ulimit -f" in recorded.one_line(result, 0)


def test_traces_that_outgrow_the_quota(tmp_path):
    """As a full disk: recording stops with one line, the job goes on, and a report with more room finishes the rest."""
    folder = tmp_path / "out"
    result = watched(
        recorded.TOOL, "run", "-o", folder, "--detail", "full", "--spool-mib", "1", "--", LIFE, "keep_going", 1500,
        preexec_fn=limited(resource.RLIMIT_FSIZE, (1 << 20) + 80_000),
    )  # fmt: skip
    line = recorded.one_line(result, 0)
    assert "recording of process" in line and "stopped" in line and ".spool" in line
    made, longest = map(int, result.stdout.split()[1:])
    assert made > 0 and longest < PAUSE_MS
    assert recorded.tool("report", folder).returncode == 0
    assert life_safety.lost(the_trace(folder)) > 0
    assert json.loads((folder / "run.json").read_text())["state"] == "recovered"


def mounting(folder: pathlib.Path, options: str) -> tuple[str, ...]:
    """What to put before a command to give it, in a name space of its own, a file system in that folder."""
    script = f'mount -t tmpfs -o {options} none "{folder}" && exec "$@"'
    prefix = ("unshare", "-m", "sh", "-c", script, "sh")
    if watched(*prefix, "true").returncode != 0:
        pytest.skip("no right to mount here")
    return prefix


def test_a_full_output_folder(tmp_path):
    """A file system of 3 MiB."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    result = watched(
        *mounting(mounted, "size=3m"),
        recorded.TOOL, "run", "-o", mounted / "out", "--detail", "full", "--", LIFE, "keep_going", 2500,
    )  # fmt: skip
    made, longest = map(int, result.stdout.split()[1:])
    assert made > 0 and longest < PAUSE_MS
    assert "full" in recorded.one_line(result, 0)


@pytest.mark.parametrize("mib", [1, 100])
def test_a_small_shared_memory(tmp_path, mib):
    """Too small for spools: they are memory without a file, shown in the output folder."""
    result = watched(
        *mounting(pathlib.Path("/dev/shm"), f"size={mib}m"),
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", LIFE, "make", 3,
    )  # fmt: skip
    assert (result.stdout, result.stderr, result.returncode) == ("3\n", "", 0)
    assert life_safety.blocks(the_trace(tmp_path / "out")) == 3
    assert not list((tmp_path / "out").glob(".spool-*"))


def test_a_limit_of_address_space(tmp_path):
    """What the job may map is the job's: without room for a spool and as much again there is none."""
    command = f"ulimit -v 800000; exec {LIFE} make 3"
    assert watched("sh", "-c", command).stdout == "3\n"
    result = watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--spool-mib", "512", "--", "sh", "-c", command)
    assert result.stdout == "3\n"
    assert "ulimit -v" in recorded.one_line(result, 0)


def test_a_limit_of_memory(tmp_path):
    """A control group of our own, where we may make one."""
    own = [line.split("::", 1)[1] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if "0::" in line]
    group = pathlib.Path("/sys/fs/cgroup") / own[0].lstrip("/") if own else pathlib.Path("/nonexistent")
    controllers = group / "cgroup.subtree_control"
    if not controllers.exists() or "memory" not in controllers.read_text() or not os.access(group, os.W_OK):
        pytest.skip("no memory controller of cgroup v2 that is delegated to us")
    child = group / f"dcmt-{os.getpid()}"
    child.mkdir()
    try:
        (child / "memory.max").write_text(str(1 << 30))
        enter = f"echo $$ > {child}/cgroup.procs; exec {LIFE} make 3"
        result = watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--", "sh", "-c", enter)
        assert (result.stdout, result.returncode) == ("3\n", 0)
    finally:
        child.rmdir()


def test_locks_refused(tmp_path):
    result = watched(
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", LIFE, "make", 3,
        env=recorded.environment(LD_PRELOAD=str(FOLDER / "liblife_no_locks.so")),
    )  # fmt: skip
    assert result.stdout == "", "the job was not started"
    assert "local folder" in recorded.one_line(result, 125)


def test_a_read_only_output_folder(tmp_path):
    mounted = tmp_path / "closed"
    mounted.mkdir()
    result = watched(*mounting(mounted, "ro"), recorded.TOOL, "run", "-o", mounted, "--", LIFE, "make", 3)
    assert result.stdout == ""
    assert str(mounted) in recorded.one_line(result, 125)


def test_a_recorder_whose_terminal_is_gone(tmp_path):
    """Nobody reads what it says; it must not die of that."""
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [recorded.TOOL, "run", "-o", tmp_path / "out", "--", sys.executable, "-c", "print('no torch')"],
        env=recorded.environment(), stdout=subprocess.PIPE, stderr=writer, text=True, timeout=life_safety.WATCHDOG,
    )  # fmt: skip
    os.close(writer)
    assert (run.stdout, run.returncode) == ("no torch\n", 0)
