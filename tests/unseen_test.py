"""Processes that cannot be recorded are reported with the reason."""

from __future__ import annotations

import subprocess
import sys
import time

import life_safety
import proc
import pytest
import recorded
from life_safety import LIFE, Going
from proc import until

HIDDEN = {
    "environment": (("env", "-i"), "its environment was cleared"),
    "rights": (("setpriv", "--reuid=65534", "--clear-groups"), "the rights of another user"),
    "mounts": (("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh"), "a mount namespace"),
}


def run(folder, *command: object) -> subprocess.CompletedProcess:
    return life_safety.watched(recorded.TOOL, "run", "-o", folder, "--", *command)


def possible(*command: str) -> None:
    if life_safety.watched(*command, "true").returncode != 0:
        pytest.skip(f"no right for {command[0]} here")


def inspections(recorder: int, count: int) -> None:
    """Waits until this many processes below the job were inspected. A recorder reads no other files meanwhile."""
    latest = proc.bytes_read(recorder)
    for _ in range(count):
        until(lambda: proc.bytes_read(recorder) != latest)
        while (now := proc.bytes_read(recorder)) != latest:
            latest = now
            time.sleep(0.1)


@pytest.mark.parametrize("how", HIDDEN)
def test_what_keeps_a_process_unseen(tmp_path, how):
    before, why = HIDDEN[how]
    possible(*before)
    if life_safety.watched(*before, LIFE, "make", 3).returncode != 0:
        pytest.skip("the program is not to be read with these rights")
    with Going(tmp_path / "out", inside=before) as going:
        inspections(going.run.pid, 3)
        _, _, err = going.ended()
    assert going.run.returncode == 0
    (line,) = [line for line in err.splitlines() if line.startswith("dc-memtrace: ")]
    assert "(life) uses torch and is not recorded" in line and why in line


def test_a_pid_namespace_is_no_hindrance(tmp_path):
    before = ("unshare", "--pid", "--fork", "--mount-proc")
    possible(*before)
    result = run(tmp_path / "out", *before, LIFE, "make", 3)
    assert (result.stdout, result.stderr, result.returncode) == ("3\n", "", 0)
    trace = life_safety.the_trace(tmp_path / "out")
    assert life_safety.blocks(trace) == 3 and recorded.meta(trace)["exit"] in recorded.exits(0, "exit unseen")


def test_a_program_without_tensors_was_followed(tmp_path):
    assert run(tmp_path / "out", "true").stderr == (
        "dc-memtrace: no process that was followed made a tensor: nothing was recorded\n"
    )


def test_of_a_script_that_is_missing_only_python_speaks(tmp_path):
    result = run(tmp_path / "out", sys.executable, "gna.py")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert "can't open file" in line
    assert "nothing was recorded" in recorded.one_line(recorded.tool("report", tmp_path / "out"), 3)
