"""Attaching to programs that have no library of dc-memtrace: the agent is injected into them."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

import recorded
from attached import done, hooks_in, training, untouched
from proc import until

KILLS = int(os.environ.get("DCMT_ATTACH_KILLS", "1"))


def can_attach(pid: int) -> bool:
    """True if doctor says that the agent can be injected."""
    diagnosis = json.loads(recorded.tool("doctor", pid, "--json").stdout)
    assert not any(each["ok"] for each in diagnosis["checks"] if each["name"] == "standby")
    return diagnosis["can_attach"]


def test_a_program_that_has_nothing_of_ours(tmp_path):
    with training(tmp_path / "program", 0, start=(), ATTACHED_KEEPS="0") as program:
        # During imports, it may have no sleeping thread.
        until((program.folder / "trains").exists)
        assert can_attach(program.pid)
        line = recorded.one_line(recorded.tool("attach", program.pid, "--only-standby", "-o", tmp_path / "none"), 4)
        assert "is not in standby" in line
        assert "libdcmt" not in pathlib.Path(f"/proc/{program.pid}/maps").read_text()
        for number in range(2 if recorded.ALL else 1):
            attached = program.attach(tmp_path / f"trace{number}", "--steps", 2)
            done(attached)
            assert program.hooks() == []
            (trace,) = recorded.traces(tmp_path / f"trace{number}")
            meta = recorded.meta(trace)
            assert (meta["state"], meta["exit"], meta["lost_deaths"]) == ("finished", "still running", 0)
            assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]
            assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'step' AND to_seq IS NOT NULL")[0][0] >= 3
            assert recorded.query(trace, "SELECT count(*) FROM storage WHERE stack IS NOT NULL")[0][0] > 0
        status = pathlib.Path(f"/proc/{program.pid}/status").read_text()
        assert "TracerPid:\t0\n" in status and "SigBlk:\t0000000000000000" in status
        result = program.end()
    assert result == untouched(tmp_path / "plain", len(result["losses"]))


BUSY = """
import torch
layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
print("runs", flush=True)
while True:
    layer(torch.ones(8, 64)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("threads", ["2", "1"])
def test_a_program_that_never_waits(tmp_path, threads):
    """Of two threads, one of torch's own waits. A single thread, as under torchrun, is borrowed while it runs Python."""
    environment = recorded.environment(OMP_NUM_THREADS=threads)
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout.readline() == "runs\n"
        found = recorded.tool("doctor", process.pid)
        assert found.returncode == 0 and ("one that runs Python is borrowed" in found.stdout) == (threads == "1"), found.stdout
        # Recorders are killed as they begin. The program continues, and can still be attached to.
        for number in range(KILLS):
            killed = subprocess.Popen(
                [recorded.TOOL, "attach", str(process.pid), "-o", tmp_path / f"killed{number}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=recorded.environment(),
            )  # fmt: skip
            time.sleep(0.03 + 0.01 * number)
            killed.kill()
            killed.wait()
        until(lambda: not hooks_in(process.pid))
        attached = recorded.tool("attach", process.pid, "-o", tmp_path / "out", "--steps", "3", "-q")
        assert attached.returncode == 0, attached.stderr
        assert hooks_in(process.pid) == []
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_who_is_refused(tmp_path):
    """Another user's process, one under a sanitizer (by the name of its library), and one with a tracer."""
    sanitizer = tmp_path / "libasan.so.8"
    shutil.copy("/lib/x86_64-linux-gnu/libBrokenLocale.so.1", sanitizer)
    script = "import ctypes, torch, sys; print('runs', flush=True); sys.stdin.readline(); ctypes.CDLL(sys.argv[1]); print('watched', flush=True); sys.stdin.read()"
    plain = subprocess.Popen([sys.executable, "-c", script, sanitizer],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert plain.stdout.readline() == "runs\n"
        if os.geteuid() == 0:
            line = recorded.one_line(recorded.tool("attach", plain.pid, "-o", tmp_path / "out", user=65534), 4)
            assert "belongs to another user (uid 0)" in line
        # Traced by this Python, as by a debugger.
        script = (
            "import ctypes, sys\n"
            "libc = ctypes.CDLL(None)\n"
            f"assert libc.ptrace(0x4206, {plain.pid}, None, None) == 0\n"
            "print('traces', flush=True)\n"
            "sys.stdin.read()\n"
        )
        tracer = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert tracer.stdout.readline() == "traces\n"
            line = recorded.one_line(recorded.tool("attach", plain.pid, "-o", tmp_path / "out"), 4)
            assert re.search(rf"is traced by process {tracer.pid} \(python.*\): end that first", line)
        finally:
            tracer.communicate("")
        plain.stdin.write("\n")
        plain.stdin.flush()
        assert plain.stdout.readline() == "watched\n"
        line = recorded.one_line(recorded.tool("attach", plain.pid, "-o", tmp_path / "out"), 4)
        assert "runs under a sanitizer" in line
        assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
        assert "libdcmt" not in pathlib.Path(f"/proc/{plain.pid}/maps").read_text()
        plain.communicate("", timeout=30)
        assert plain.returncode == 0
    finally:
        plain.kill()
        plain.wait()


ONE_LONG_CALL = """
import re, torch
print("runs", flush=True)
re.match(r"(a+)+$", "a" * 64 + "b")
"""


@pytest.mark.skipif(not recorded.ALL, reason="it waits for a minute: for scripts/soak")
def test_a_long_call_with_the_lock_of_python(tmp_path):
    """The recorder waits for the call, then reports it."""
    process = subprocess.Popen([sys.executable, "-c", ONE_LONG_CALL], stdout=subprocess.PIPE, text=True, env=recorded.environment())
    try:
        assert process.stdout.readline() == "runs\n"
        line = recorded.one_line(recorded.tool("attach", process.pid, "-o", tmp_path / "out"), 4)
        assert "has not answered yet: it is stopped, or busy in one long call" in line
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
