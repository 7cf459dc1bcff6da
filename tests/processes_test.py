"""What a job is made of: ranks, children, forks, compilers, programs without Python."""

from __future__ import annotations

import json
import sys
import textwrap

import recorded

TRAIN = """
import torch
model = torch.nn.Linear(300, 300)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(300, 300)).sum().backward()
optimizer.step()
"""


def run(folder, *command: object):
    result = recorded.tool("run", "-o", folder, "--", *command)
    assert result.returncode == 0, result.stderr
    return result


def test_torchrun_gives_one_trace_per_rank(tmp_path):
    program = tmp_path / "ranks.py"
    program.write_text(
        "import torch, torch.distributed as d\n"
        "d.init_process_group('gloo')\n"
        "t = torch.full((100_000,), float(d.get_rank()))\n"
        "d.all_reduce(t)\n"
        "assert t[0] == 1\n"
        "d.destroy_process_group()\n"
    )
    folder = tmp_path / "out"
    run(folder, sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", program)
    assert [trace.name for trace in recorded.traces(folder)] == ["rank0.dcmt", "rank1.dcmt"]
    for rank, trace in enumerate(recorded.traces(folder)):
        assert (recorded.meta(trace)["rank"], recorded.meta(trace)["world_size"]) == (rank, 2)
        assert recorded.query(trace, "SELECT count(*) FROM storage WHERE bytes = 400000")[0][0] >= 1
    assert [seen["rank"] for seen in recorded.report(folder)] == [0, 1]


def test_a_process_that_gives_itself_a_rank_has_it(tmp_path):
    """A worker of Ray Train is started without one. Its trace is made before, so its name has no rank, in run.json either."""
    program = tmp_path / "worker.py"
    program.write_text(
        "import os, torch\n"
        "kept = torch.ones(50_000)\n"
        "os.environ.update(RANK='1', WORLD_SIZE='2')\n"
        f"for _ in range(3):\n{textwrap.indent(TRAIN, '    ')}"
    )
    folder = tmp_path / "out"
    run(folder, sys.executable, program)
    (trace,) = recorded.traces(folder)
    assert trace.name.startswith("pid")
    assert (recorded.meta(trace)["rank"], recorded.meta(trace)["world_size"]) == (1, 2)
    assert [report["rank"] for report in recorded.report(folder)] == [1]
    state = json.loads((folder / "run.json").read_text())
    assert state["state"] == "finished" and list(state["traces"].values()) == [trace.name]


def test_children_by_exec_are_recorded_and_forks_are_not(tmp_path):
    """Of a child's child, it is known how it ended, too."""
    child = "import os, torch; torch.ones({0}); {1}"
    program = tmp_path / "parent.py"
    program.write_text(
        "import os, subprocess, sys, torch\n"
        "mine = torch.ones(50_000)\n"
        f"for code in {[child.format(90_000, 'exit(3)'), child.format(100_000, 'os._exit(3)')]!r}:\n"
        "    assert subprocess.run([sys.executable, '-c', code]).returncode == 3\n"
        "if os.fork() == 0:\n"
        "    torch.empty(70_000)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "after = torch.ones(60_000)\n"
    )
    folder = tmp_path / "out"
    run(folder, sys.executable, program)
    exits = {
        frozenset(size for (size,) in recorded.query(trace, "SELECT bytes FROM block WHERE bytes >= 200000")):
            recorded.meta(trace)["exit"]
        for trace in recorded.traces(folder)
    }  # fmt: skip
    parent, orderly, abrupt = frozenset({200_000, 240_000}), frozenset({360_000}), frozenset({400_000})
    # The parent before and after the fork. A forked child is silent.
    assert set(exits) == {parent, orderly, abrupt} and exits[parent] == "exit 0"
    assert exits[orderly] in recorded.exits(3, "exit unseen") and exits[abrupt] in recorded.exits(3, "unknown")


def test_a_process_that_executes_itself_has_a_trace_per_image(tmp_path):
    program = tmp_path / "again.py"
    program.write_text(
        "import os, sys, torch\n"
        "again = len(sys.argv) > 1\n"
        "torch.ones(60_000 if again else 50_000)\n"
        "if not again:\n"
        "    os.execv(sys.executable, [sys.executable, __file__, 'again'])\n"
    )
    folder = tmp_path / "out"
    run(folder, sys.executable, program)
    sizes = {
        trace.name: {size for (size,) in recorded.query(trace, "SELECT bytes FROM block WHERE bytes >= 200000")}
        for trace in recorded.traces(folder)
    }
    first, second = sorted(sizes, key=lambda name: name.endswith("-2.dcmt"))
    assert second == first.replace(".dcmt", "-2.dcmt")
    assert (sizes[first], sizes[second]) == ({200_000}, {240_000})
    assert recorded.meta(folder / first)["pid"] == recorded.meta(folder / second)["pid"]
    assert {recorded.meta(folder / name)["state"] for name in sizes} == {"finished"}
    assert recorded.meta(folder / second)["exit"] == "exit 0"


def test_dataloader_workers_leave_the_trace_whole(tmp_path):
    code = (
        "import torch\n"
        "loader = torch.utils.data.DataLoader(torch.arange(64.), batch_size=8, num_workers=2)\n"
        "print(sum(float(batch.sum()) for batch in loader))\n"
    )
    folder = tmp_path / "out"
    assert run(folder, sys.executable, "-c", code).stdout == "2016.0\n"
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]


def test_compile_workers_are_left_alone(tmp_path):
    """Two compile threads make torch start its pool of workers; none of them gets a trace."""
    program = tmp_path / "compiled.py"
    program.write_text(
        "import torch, torch._inductor.config as config\n"
        "config.compile_threads = 2\n"
        "config.worker_start_method = 'subprocess'\n"
        "f = torch.compile(lambda a: (a @ a).relu() + 1)\n"
        "print(f(torch.ones(64, 64)).sum().item())\n"
    )
    folder = tmp_path / "out"
    assert run(folder, sys.executable, program).stdout == f"{64.0 * 64 * 65}\n"
    assert len(recorded.traces(folder)) == 1


def test_explicit_marks_and_phases(tmp_path):
    code = (
        "import torch, dc_memtrace as m\n"
        "held = []\n"
        "for number in range(2):\n"
        "    with m.phase('load'):\n"
        "        t = torch.ones(100_000)\n"
        "    m.gather(7, t, graph=1); held.append(t)\n"
        "    with m.release(7, graph=1):\n"
        "        pass\n"
        "    del t\n"
        "    torch.ones(1).add_(1)\n"
        "    m.mark('done')\n"
        "    m.step(number)\n"
        "m.census(held[0])\n"
        "del held\n"
        "torch.ones(1)\n"
    )
    folder = tmp_path / "out"
    recorded.record(folder, "-c", code)
    (trace,) = recorded.traces(folder)
    kinds = dict(recorded.query(trace, "SELECT kind, count(*) FROM mark GROUP BY kind"))
    assert (kinds["step"], kinds["gather"], kinds["release"], kinds["user"]) == (2, 2, 2, 2)
    (seen,) = recorded.report(folder)
    (finding,) = seen["findings"]
    assert (finding["keys"], finding["bytes"]) == (1, 400_000)
