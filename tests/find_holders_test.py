"""A program requests a reading of its memory: holders in a function are named although it returns right afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys

import recorded

STEPS, KEPT = 6, 80_000
PROGRAM = """
import sys, time
import dc_memtrace, torch

def main():
    first, second = [], []
    for step in range(12):
        (first if step < 6 else second).append(torch.full((20_000,), float(step)))
        dc_memtrace.step()
        if step in (5, 11):
            print(dc_memtrace.find_holders(timeout=60), flush=True)

main()
"""


def test_what_a_function_holds(tmp_path):
    done = recorded.record(tmp_path / "out", "-c", PROGRAM)
    assert done.stdout.split() == ["True", "True"]
    (trace,) = recorded.traces(tmp_path / "out")
    owners = recorded.tool("show", "live", "--json", "--at", "end", trace)
    report = recorded.report(trace)[0]
    print(owners.stdout, report["findings"])
    holders = {group["name"]: group["bytes"] for group in report["peak"]["by_holder"]}
    assert holders["main: first"] == holders["main: second"] == STEPS * KEPT


def test_without_a_recorder_nobody_waits():
    assert recorded.python("-c", "import dc_memtrace; print(dc_memtrace.find_holders(timeout=1e6))").stdout == "False\n"


def test_a_recorder_that_does_not_answer_is_waited_for_as_long_as_was_said(tmp_path):
    program = "import torch, dc_memtrace as d; k = torch.ones(20_000); print(1, flush=True); input(); print(d.find_holders(0.2))"
    run = subprocess.Popen(
        [recorded.TOOL, "run", "-o", tmp_path / "out", "--", sys.executable, "-c", program],
        env=recorded.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with run:
        run.stdout.readline()
        run.send_signal(signal.SIGSTOP)
        run.stdin.write("\n")
        run.stdin.flush()
        answer = run.stdout.readline()
        run.send_signal(signal.SIGCONT)
        _, err = run.communicate(timeout=60)
    assert (answer, run.returncode, err) == ("False\n", 0, "")
