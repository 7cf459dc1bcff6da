"""A program that ends before its recorder had the time to read its memory is read at its end, if it kept something."""

from __future__ import annotations

import signal
import subprocess
import sys

import proc
import recorded
from proc import until

PROGRAM = recorded.PROGRAMS / "short_program.py"
STEPS, KEPT = 8, 80_000
INPUT, OUTPUT = 130 * 128 * 4, 130 * 160 * 4  # bytes of the layer's in one step
CYCLE = "cycle Kept.x → SigmoidBackward0._saved_result (packed by hook) → Kept"


def record(folder, what: str) -> tuple[dict, list[int]]:
    """The report, and the numbers of readings that began before the program's end, while it waited for the last ones, and later."""
    began, over = map(int, recorded.record(folder, PROGRAM, what).stdout.split())
    (trace,) = recorded.traces(folder)
    times = [time for (time,) in recorded.query(trace, "SELECT from_ns FROM scan")]
    return recorded.report(trace)[0], [
        sum(time < began for time in times), sum(began < time < over for time in times), sum(over < time for time in times)
    ]  # fmt: skip


def test_a_list_of_the_module(tmp_path):
    report, (_, at_end, _) = record(tmp_path / "out", "list")
    (finding,) = report["findings"]
    growth = finding["growth"]
    assert (finding["rule"], growth["holder"], growth["type"]) == ("grows", "main.KEPT", "list")
    assert (growth["steps"], finding["bytes"], growth["seen"]) == (STEPS, STEPS * KEPT, STEPS)
    assert at_end >= 1


@recorded.for_soak
def test_a_cycle_through_autograd(tmp_path):
    """Proving that nothing else holds it needs two readings. Without the cycle, the peak is that of the corrected program, plus the
    memory of one step: in its own step it counts as needed."""
    report, readings = record(tmp_path / "out", "cycle")
    (finding,) = report["findings"]
    assert finding["growth"]["holder"] == CYCLE and sum(readings) >= 2
    fixed, _ = record(tmp_path / "fixed", "detached")
    assert fixed["findings"] == []
    more = finding["predicted_peak_bytes"] - fixed["peak"]["bytes"]
    assert 0 <= more <= INPUT + OUTPUT < (report["peak"]["bytes"] - fixed["peak"]["bytes"]) / 2


def test_a_traceback(tmp_path):
    report, _ = record(tmp_path / "out", "traceback")
    (finding,) = report["findings"]
    assert (finding["rule"], finding["bytes"], finding["confidence"]) == ("kept_by_traceback", KEPT, "certain")
    holder = finding["growth"]["holder"]
    assert holder.startswith("main.ERROR.__traceback__.") and " fail (short_program.py:" in holder
    text = recorded.tool("report", tmp_path / "out").stdout
    assert "kept by the traceback of an exception" in text and "KEPT" in text


def test_nothing_is_read_while_the_interpreter_is_finalized(tmp_path):
    report, (before, _, later) = record(tmp_path / "out", "nothing")
    assert (report["findings"], report["remarks"], before >= 1, later) == ([], [], True, 0)


def test_nobody_waits_for_a_recorder_that_does_not_answer(tmp_path):
    program = f"import os, sys; sys.argv = ['', 'list']; exec(open({str(PROGRAM)!r}).read()); print(os.getpid(), flush=True); input()"
    run = subprocess.Popen(
        [recorded.TOOL, "run", "-o", tmp_path / "out", "--", sys.executable, "-c", program],
        env=recorded.environment(DC_MEMTRACE_EXIT_WAIT="2"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with run:
        job = int(run.stdout.readline())
        run.send_signal(signal.SIGSTOP)
        run.stdin.write("\n")
        run.stdin.flush()
        until(lambda: proc.state(job) == "Z")  # else the program waits
        run.send_signal(signal.SIGCONT)
        _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (0, "")
    assert recorded.tool("report", tmp_path / "out").returncode == 0


def test_threads_that_waited_for_the_gil_run_before_python_finalizes(tmp_path):
    """Else Python ends them where they acquire it next, perhaps below a C++ function that must not throw: that is fatal. Other
    handlers between the two that are registered here let a thread run once at most."""
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, threading, time\n"
        "order = []\n"
        "atexit.register(lambda: print(*order))\n"
        "atexit.register(order.append, 'after')\n"
        "import torch\n"
        "kept = [torch.ones(30_000) for _ in range(8)]\n"
        "atexit.register(order.append, 'before')\n"
        "def beat():\n"
        "    while True: time.sleep(0.001); order.append('beat')\n"
        "threading.Thread(target=beat, daemon=True).start()\n"
    )
    order = recorded.record(tmp_path / "out", program).stdout.split()
    assert order[order.index("before") : order.index("after")].count("beat") > 1
