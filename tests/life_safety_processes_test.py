"""Children of every kind: by fork, vfork, clone and spawn, at any time, and by Python's own means."""

from __future__ import annotations

import sys

import life_safety
import recorded
from life_safety import LIFE, SCALE, the_trace, unharmed

# Each forked child computes and prints.
PYTHON_CHILDREN = """
import multiprocessing, os, sys, threading, torch, warnings
from torch.utils.data import DataLoader

warnings.filterwarnings('ignore', 'This process .* is multi-threaded')  # Python 3.12's own, with the pid in it

def work(number):
    return float(torch.full((30_000,), float(number)).sum())

def go_on_training():
    weight = torch.ones(30_000, requires_grad=True)
    for _ in range(5):
        (weight * 2).sum().backward()
    os._exit(0 if float(weight.grad[0]) == 10 else 1)

if __name__ == '__main__':
    torch.set_num_threads(1)
    work(1)
    stop = threading.Event()
    def record():
        while not stop.is_set():
            work(2)
    others = [threading.Thread(target=record) for _ in range(2)]
    for thread in others: thread.start()
    if os.fork() == 0:
        go_on_training()
    print('fork', os.wait()[1])
    stop.set()
    for thread in others: thread.join()
    with multiprocessing.get_context('fork').Pool(2) as pool:
        print('pool', sum(pool.map(work, range(4))))
    loader = DataLoader(torch.ones(60_000), batch_size=30_000, num_workers=1)
    print('loader', sum(float(batch.sum()) for batch in loader))
    for method in ('spawn', 'forkserver'):
        child = multiprocessing.get_context(method).Process(target=work, args=(3,))
        child.start()
        child.join()
        print(method, child.exitcode)
"""

FORKS_WHILE_THREADS_BEGIN = """
import os, sys, threading, torch

def work():
    torch.ones(30_000).sum()

torch.set_num_threads(1)
work()
stop = threading.Event()
def begin_all_the_time():
    while not stop.is_set():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
others = [threading.Thread(target=begin_all_the_time) for _ in range(3)]
for thread in others: thread.start()
went_on = 0
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        weight = torch.ones(3, requires_grad=True)
        (weight * 2).sum().backward()
        os._exit(0 if float(weight.grad[0]) == 2 else 1)
    went_on += os.wait()[1] == 0
stop.set()
for thread in others: thread.join()
print(went_on, 'children went on')
"""


def test_forked_children_go_on_while_threads_record(tmp_path):
    children = 20 * SCALE
    seen = unharmed(tmp_path / "out", LIFE, "fork", children)
    assert seen.stdout == f"{children} of {children} children made their tensors\n"
    trace = the_trace(tmp_path / "out")
    assert f"{children} forked children are not recorded" in life_safety.notes(trace)
    # In the long run, threads that only make tensors fill the spool faster than it is read.
    assert SCALE > 1 or life_safety.lost(trace) == 0


def test_forks_between_releases(tmp_path):
    """Callbacks of torch are switched at releases, under a lock. A child must not inherit the lock as held."""
    children = 100 * SCALE
    seen = unharmed(tmp_path / "out", LIFE, "fork_between_releases", children)
    assert seen.stdout == f"{children} of {children} children made their tensors\n"
    trace = the_trace(tmp_path / "out")
    assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'release'")[0][0] > 0


def test_a_fork_in_the_middle_of_a_hook(tmp_path):
    seen = unharmed(tmp_path / "out", LIFE, "fork_in_handler", 200 * SCALE)
    assert seen.stdout == "all children went on\n"
    the_trace(tmp_path / "out")


def test_a_clone_past_the_c_library(tmp_path):
    assert unharmed(tmp_path / "out", LIFE, "clone").stdout == "clone: 0\n"
    trace = the_trace(tmp_path / "out")
    assert life_safety.blocks(trace) == 1, "the parent's"
    assert "a forked child is not recorded" in life_safety.notes(trace)


def test_children_by_exec_are_recorded(tmp_path):
    seen = unharmed(tmp_path / "out", LIFE, "execute")
    assert seen.stdout.splitlines()[-3:] == ["fork: 0", "vfork: 0", "posix_spawn: 0"]
    made = sorted(life_safety.blocks(trace) for trace in recorded.traces(tmp_path / "out"))
    assert made[:3] == [7, 7, 7] and len(made) == 4


def test_forks_while_threads_begin(tmp_path):
    """A thread's first operator acquires torch's lock of callbacks, and holds it longer with a callback of ours. A child
    that inherits it as held hangs."""
    program = tmp_path / "forks.py"
    program.write_text(FORKS_WHILE_THREADS_BEGIN)
    children = 200 * SCALE
    seen = life_safety.watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--", sys.executable, program, children)
    assert seen.stdout == f"{children} children went on\n"
    assert "lock of callbacks" not in life_safety.notes(the_trace(tmp_path / "out"))


@recorded.for_soak
def test_python_children(tmp_path):
    program = tmp_path / "children.py"
    program.write_text(PYTHON_CHILDREN)
    seen = unharmed(tmp_path / "out", sys.executable, program)
    assert seen.stdout.split() == [
        "fork", "0", "pool", "180000.0", "loader", "60000.0", "spawn", "0", "forkserver", "0",
    ]  # fmt: skip
    parent = max(recorded.traces(tmp_path / "out"), key=lambda trace: recorded.meta(trace)["records"])
    assert "forked children are not recorded" in life_safety.notes(parent)
    assert recorded.tool("report", parent).stdout.count("not recorded") == 1
