"""Threads that begin and end, all ways to end a process, and signals inside of hooks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import life_safety
import pytest
import recorded
from life_safety import EXTENSIONS, LIFE, SCALE, the_trace, unharmed
from proc import until

ENDS = {
    "return": 3, "exit": 3, "_exit": 3, "quick_exit": 3, "thread_exit": 3, "handler_exit": 3,
    "abort": 128 + signal.SIGABRT, "throw": 128 + signal.SIGABRT, "segv": 128 + signal.SIGSEGV,
    "term": 128 + signal.SIGTERM, "kill": 128 + signal.SIGKILL,
}  # fmt: skip


@pytest.mark.parametrize("way", ENDS)
def test_ends(tmp_path, way):
    """The process ends while other threads allocate."""
    seen = unharmed(tmp_path / "out", LIFE, "leave", way)
    assert (seen.stdout, seen.returncode) == ("before the end\n", ENDS[way])
    trace = the_trace(tmp_path / "out")
    assert recorded.meta(trace)["state"] == "finished"
    code = ENDS[way]
    assert recorded.meta(trace)["exit"] == (f"signal {code - 128}" if code > 128 else f"exit {code}")
    # The tensors of the thread that ended the process. The others made blocks of the same size.
    assert life_safety.blocks(trace) + life_safety.lost(trace) >= 4


def test_threads_by_the_thousand(tmp_path):
    threads = 1000 * SCALE
    seen = unharmed(tmp_path / "out", LIFE, "threads", threads)
    assert seen.stdout == f"{threads} threads\n"
    trace = the_trace(tmp_path / "out")
    assert life_safety.lost(trace) == 0, "the chunk of a thread that has ended is used again"
    # Three each: directly, by a thread-local destructor, and in the destructor of a key.
    assert life_safety.blocks(trace) == 3 * threads
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE to_seq IS NULL") == [(0,)]


def test_threads_that_make_no_record_leave_nothing(tmp_path):
    """Their tensors are too small to be recorded individually."""
    program = tmp_path / "small.py"
    program.write_text("""
import pathlib
import threading
import torch

def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

def threads(count):
    for _ in range(count):
        thread = threading.Thread(target=torch.zeros, args=(3,))
        thread.start()
        thread.join()
    return resident()

print(-threads(100) + threads(2000))
""")
    grown = int(recorded.record(tmp_path / "out", program).stdout)
    assert grown < 4 << 20  # a thread's state is 12 KiB or more


def test_cancelled_threads(tmp_path):
    assert unharmed(tmp_path / "out", LIFE, "cancel", 40).stdout == "40 of 40 cancelled\n"
    trace = the_trace(tmp_path / "out")
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE to_seq IS NULL") == [(0,)]


def test_the_first_thread_ends_first(tmp_path):
    seen = unharmed(tmp_path / "out", LIFE, "main_thread_ends")
    assert (seen.stdout, seen.returncode) == ("the other thread returned last\n", 4)
    assert life_safety.blocks(the_trace(tmp_path / "out")) == 8


@pytest.mark.parametrize("timer", ["real", "prof"])
def test_a_thousand_signals_a_second(tmp_path, timer):
    assert unharmed(tmp_path / "out", LIFE, "timer", timer).stdout == "200 signals\n"
    the_trace(tmp_path / "out")


# Each ends in a different way, selected by the word in the middle.
PYTHON_ENDS = {
    "exception": ("raise ValueError('nobody catches this')", 1),
    "sys_exit_in_thread": ("t = threading.Thread(target=lambda: (work(), sys.exit(5))); t.start(); t.join()", 0),
    "sigint": ("signal.raise_signal(signal.SIGINT)", 128 + signal.SIGINT),
    "segv_with_faulthandler": ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
    "exit_in_forked_child": (
        "pid = os.fork()\nif pid == 0: work(); os._exit(0)\nos.waitpid(pid, 0); sys.exit(9)", 9,
    ),
    "sleeping_daemons": (
        "for _ in range(4): threading.Thread(target=lambda: (work(), time.sleep(1000)), daemon=True).start()\n"
        "time.sleep(0.1)", 0,
    ),
    "handler_that_computes": (
        "seen = []\n"
        "signal.signal(signal.SIGALRM, lambda *_: seen.append(work()))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "while len(seen) < 200: work()\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print(set(seen))", 0,
    ),
    "handler_that_raises": (
        "class Stop(Exception): pass\n"
        "def stop(*_): raise Stop\n"
        "signal.signal(signal.SIGALRM, stop)\n"
        "for _ in range(100):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.002)\n"
        "        work()  # CPython 3.11 takes a signal at the loop's begin for one before it\n"
        "        while True: work()\n"
        "    except Stop: pass\n"
        "print('stopped')", 0,
    ),
}  # fmt: skip
PROLOGUE = """
import faulthandler, os, signal, sys, threading, time, torch
def work(): return float(torch.ones(30_000).sum())
print(work(), flush=True)
"""


@pytest.mark.parametrize("way", recorded.some(PYTHON_ENDS, 4))
def test_python_ends(tmp_path, way):
    code, expected = PYTHON_ENDS[way]
    program = tmp_path / "end.py"
    program.write_text(PROLOGUE + code + "\n")
    words = [sys.executable, *(["-X", "faulthandler"] if "faulthandler" in way else []), program]
    if "faulthandler" in way:
        # The output names threads by their addresses.
        seen = life_safety.watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--", *words)
        assert "Fatal Python error: Segmentation fault" in seen.stderr and "end.py" in seen.stderr
    else:
        seen = unharmed(tmp_path / "out", *words)
    assert seen.returncode == expected
    assert seen.stdout.startswith("30000.0\n")
    assert recorded.meta(the_trace(tmp_path / "out"))["state"] == "finished"


@recorded.for_soak
def test_censuses_while_python_goes_down(tmp_path):
    """Threads that Python knows nothing of release parameters until the interpreter is gone: a thread that asked for
    the GIL then would be ended by CPython, and the process with it."""
    program = tmp_path / "down.py"
    program.write_text(
        "import ctypes, sys, time, torch\n"
        f"extension = ctypes.CDLL({str(EXTENSIONS[0])!r})\n"
        "extension.extension_start(3)\n"
        "ctypes.pythonapi.Py_AtExit(ctypes.cast(extension.extension_stop, ctypes.c_void_p))\n"
        "sys.setswitchinterval(1e-6)\n"
        "graph = [{} for _ in range(200_000)]\n"
        "for _ in range(2000): time.sleep(0)  # the GIL is free again and again\n"
        "print('leaving')\n"
    )
    for attempt in range(SCALE):
        folder = tmp_path / f"out{attempt}"
        assert unharmed(folder, sys.executable, program).stdout == "leaving\n"
        assert recorded.query(the_trace(folder), "SELECT count(*) FROM sample")[0][0] > 0


@pytest.mark.parametrize("waits", [False, True])
def test_a_child_that_outlives_the_job(tmp_path, waits):
    """The job's caller does not wait for the child unless asked to. What the child made until then is recorded."""
    script = "$LIFE keep_going 0<>counts > out & while [ ! -s out ]; do sleep 0.05; done; echo $$ > over"
    counts = life_safety.Counts(tmp_path / "counts")
    with (tmp_path / "errors").open("w") as errors:
        run = subprocess.Popen(
            [recorded.TOOL, "run", *(["--wait-children"] if waits else []), "-o", "traces", "--", "sh", "-c", script],
            env=recorded.environment(LIFE=str(LIFE)), stdout=errors, stderr=errors, cwd=tmp_path,
        )  # fmt: skip
    try:
        if waits:
            until((tmp_path / "over").exists)
            time.sleep(1)  # longer than it would wait by default
            assert run.poll() is None
            counts.end()
        assert run.wait(life_safety.WATCHDOG) == 0
    finally:
        counts.end()
    stderr = (tmp_path / "errors").read_text()
    assert ("still runs; its trace ends here" in stderr) != waits
    assert life_safety.blocks(the_trace(tmp_path / "traces")) > 0
