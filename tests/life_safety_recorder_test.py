"""A recorder that ends, stops or cannot write, and tight limits: the job is not affected."""

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
import proc
import pytest
import recorded
from life_safety import FOLDER, LIFE, Going, the_trace, watched
from proc import until

# Longer than a job waits that does not wait for the tool, and shorter than a wait for a stopped recorder.
PAUSE_MS = 1500


def until_recorded(folder: pathlib.Path, after_ns: int = 0) -> None:
    """Waits until the trace on disk has a tensor that was made after that time."""
    until(lambda: recorded.begun(folder))
    (trace,) = recorded.begun(folder)
    until(lambda: recorded.query(trace, "SELECT 1 FROM block WHERE from_ns > ? LIMIT 1", after_ns))


def test_a_recorder_that_is_stopped(tmp_path):
    """The recorder is stopped for longer than the smallest spool lasts."""
    with Going(tmp_path / "out", "--spool-mib", "1") as going:
        until_recorded(tmp_path / "out")
        going.run.send_signal(signal.SIGSTOP)
        stopped = time.monotonic_ns()
        time.sleep(2.5)
        going.make_more()
        continued = time.monotonic_ns()
        going.run.send_signal(signal.SIGCONT)
        until_recorded(tmp_path / "out", continued)
        made, longest, err = going.ended()
    assert (going.run.returncode, err) == (0, "")
    assert longest < PAUSE_MS, "the job waited for its recorder"
    trace = the_trace(tmp_path / "out")
    lost = life_safety.lost(trace)
    assert lost > 0
    meta = recorded.meta(trace)
    assert meta["records"] == meta["last_seq"], "what found no room takes no sequence"
    assert 0 < life_safety.blocks(trace) < made
    first, last = recorded.query(trace, "SELECT min(from_ns), max(from_ns) FROM block WHERE bytes = 100000")[0]
    assert first < stopped and continued < last, "recorded on both sides of the stop"
    assert "lost" in recorded.tool("report", trace).stdout


def test_a_recorder_that_is_killed(tmp_path):
    folder = tmp_path / "out"
    with Going(folder) as going:
        until_recorded(folder)
        going.run.kill()
        going.make_more()
        made, longest, err = going.ended()
    assert longest < PAUSE_MS and err == ""
    until(lambda: not proc.is_running(going.job))
    assert recorded.tool("report", folder).returncode == 0
    trace = the_trace(folder)
    assert recorded.meta(trace)["state"] == "recovered"
    assert 0 < life_safety.blocks(trace) <= made


def test_a_recorder_that_gets_no_more_memory(tmp_path, monkeypatch):
    """The recording ends, and the job has its output and its exit code."""
    # What the recorder has freed would last for long: with this, all but small pieces go back to the system at once.
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "4096")
    with Going(tmp_path / "out", "--detail", "full", "--no-owners") as going:
        until_recorded(tmp_path / "out")
        resource.prlimit(going.run.pid, resource.RLIMIT_AS, (1, 1))
        going.make_more()
        made, longest, err = going.ended()
    assert going.run.returncode == 0 and longest < PAUSE_MS
    assert re.search(r"recording (of process \d+ )?stopped", err), err
    assert recorded.tool("report", tmp_path / "out").returncode == 0
    assert 0 < life_safety.blocks(the_trace(tmp_path / "out")) <= made


def limited(what: int, limit: int):
    def apply() -> None:
        resource.setrlimit(what, (limit, limit))

    return apply


def test_a_small_limit_of_file_sizes(tmp_path):
    """The spool would exceed the job's limit: creating it would end the job by SIGXFSZ."""
    result = watched(
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", LIFE, "make", 3,
        preexec_fn=limited(resource.RLIMIT_FSIZE, 16 << 20),
    )  # fmt: skip
    assert result.stdout == "3\n"
    assert "ulimit -f" in recorded.one_line(result, 0)


def test_traces_that_outgrow_the_quota(tmp_path):
    """Like a full disk: recording stops with one line, the job continues, and a report with more space finishes the rest."""
    folder = tmp_path / "out"
    limit = (1 << 20) + 80_000
    with Going(folder, "--detail", "full", "--spool-mib", "1", preexec_fn=limited(resource.RLIMIT_FSIZE, limit)) as going:
        # Then the contents of the spool fill the rest.
        until(lambda: proc.bytes_written(going.run.pid) > limit * 0.9)
        going.make_more()
        made, longest, err = going.ended()
    assert going.run.returncode == 0 and longest < PAUSE_MS
    (line,) = err.splitlines()
    assert "recording of process" in line and "stopped" in line and ".spool" in line
    assert recorded.tool("report", folder).returncode == 0
    assert life_safety.lost(the_trace(folder)) > 0
    assert json.loads((folder / "run.json").read_text())["state"] == "recovered"


def mounting(folder: pathlib.Path, options: str) -> tuple[str, ...]:
    """A command prefix for a separate name space with a file system in that folder."""
    script = f'mount -t tmpfs -o {options} none "{folder}" && exec "$@"'
    prefix = ("unshare", "-m", "sh", "-c", script, "sh")
    if watched(*prefix, "true").returncode != 0:
        pytest.skip("no right to mount here")
    return prefix


def test_a_full_output_folder(tmp_path):
    """A file system of 3 MiB."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    with Going(mounted / "out", "--detail", "full", before=mounting(mounted, "size=3m")) as going:
        going.make_more()
        made, longest, err = going.ended()
    assert going.run.returncode == 0 and longest < PAUSE_MS
    (line,) = err.splitlines()
    assert "full" in line


@pytest.mark.parametrize("mib", [1, 100])
def test_a_small_shared_memory(tmp_path, mib):
    """Too small for spools: they are memory without a file, which is listed in the output folder."""
    result = watched(
        *mounting(pathlib.Path("/dev/shm"), f"size={mib}m"),
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", LIFE, "make", 3,
    )  # fmt: skip
    assert (result.stdout, result.stderr, result.returncode) == ("3\n", "", 0)
    assert life_safety.blocks(the_trace(tmp_path / "out")) == 3
    assert not list((tmp_path / "out").glob(".spool-*"))


def test_a_limit_of_address_space(tmp_path):
    """The job may use its whole limit: if a spool and as much again do not fit, there is no spool."""
    command = f"ulimit -v 800000; exec {LIFE} make 3"
    assert watched("sh", "-c", command).stdout == "3\n"
    result = watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--spool-mib", "512", "--", "sh", "-c", command)
    assert result.stdout == "3\n"
    assert "ulimit -v" in recorded.one_line(result, 0)


def test_a_limit_of_memory(tmp_path):
    """A separate control group, if this test may create one."""
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
    """Nobody reads its messages. It must not end because of that."""
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [recorded.TOOL, "run", "-o", tmp_path / "out", "--", sys.executable, "-c", "print('no torch')"],
        env=recorded.environment(), stdout=subprocess.PIPE, stderr=writer, text=True, timeout=life_safety.WATCHDOG,
    )  # fmt: skip
    os.close(writer)
    assert (run.stdout, run.returncode) == ("no torch\n", 0)
