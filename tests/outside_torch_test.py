"""Memory that is not torch's: growth is reported with its kind, and programs that free such memory have no finding."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

import pytest

import control_groups
import recorded

PROGRAM = recorded.PROGRAMS / "outside_torch.py"
MIB = 1 << 20


def report(folder: pathlib.Path, *arguments: object) -> dict:
    recorded.record(folder, PROGRAM, *arguments)
    (trace,) = json.loads(recorded.tool("report", "--json", trainer(folder)).stdout)["traces"]
    return trace


def trainer(folder: pathlib.Path) -> pathlib.Path:
    """The trace of the process that trains. Workers have other traces."""
    return max(recorded.traces(folder), key=lambda path: path.stat().st_size)


def memory(folder: pathlib.Path) -> dict:
    (view,) = json.loads(recorded.tool("show", "memory", "--json", trainer(folder)).stdout)["traces"]
    return view


def outside(found: dict) -> dict[str, dict]:
    return {finding["outside"]["kind"]: finding["outside"] for finding in found["findings"] if finding["outside"]}


def unexplained(view: dict) -> int:
    """Anonymous bytes without a known class."""
    return sum(each["bytes"] for each in view["classes"] if each["name"] == "other")


def holds_the_bound(view: dict) -> bool:
    return unexplained(view) <= max(20 * MIB, 0.02 * view["classes_at"]["resident_bytes"])


def expect_growth(found: dict, kind: str) -> dict:
    growth = outside(found)[kind]
    assert 0.7 * MIB <= growth["per_step_bytes"] <= 1.4 * MIB, growth
    return growth


@pytest.mark.parametrize("kinds", [("malloc", "mapping"), ("numpy", "file"), ("threads",),
                                   *(pytest.param((kind,), marks=recorded.for_soak)
                                     for kind in ("malloc", "mapping", "numpy", "workers", "file", "objects"))])
def test_what_grows_is_named_as_what_it_is(tmp_path, kinds):
    found = report(tmp_path / "out", *kinds)
    names = {"mapping": "shared memory", "file": "files", "threads": "stacks"}
    for kind in kinds:
        if kind == "workers":  # torch's own: a list of tensors
            assert outside(found) == {}
            assert found["findings"][0]["growth"]["holder"].endswith("batches")
            continue
        if kind == "objects":  # a list that readings count
            assert outside(found) == {}
            growth = found["findings"][0]["objects"]
            assert growth["holder"].endswith("objects") and 0.7 * MIB <= growth["per_round_bytes"] <= 1.4 * MIB, growth
            continue
        growth = expect_growth(found, names.get(kind, kind))
        if kind == "numpy":
            assert growth["holder"].endswith("rows") and growth["type"] == "list"
    assert len(found["findings"]) == len(kinds)
    assert holds_the_bound(memory(tmp_path / "out")), memory(tmp_path / "out")["classes"]


@pytest.mark.parametrize("kinds", [("malloc", "mapping", "numpy", "workers", "file", "objects", "threads", "buffer"),
                                   *(pytest.param((kind,), marks=recorded.for_soak)
                                     for kind in ("malloc", "mapping", "numpy", "workers", "file", "objects", "threads", "buffer"))])
def test_programs_that_let_go_are_silent(tmp_path, kinds):
    found = report(tmp_path / "out", *kinds, "--drop")
    assert found["findings"] == []
    view = memory(tmp_path / "out")
    assert holds_the_bound(view), view["classes"]
    assert view["samples"] > 20 and {"libraries", "malloc", "python"} <= {each["name"] for each in view["classes"]}


@pytest.fixture
def control_group():
    """A control group with 1 GiB of memory, if this test may create one."""
    with control_groups.made(1 << 30) as group:
        yield group


def expect_killed(folder: pathlib.Path, limit: int) -> None:
    (trace,) = json.loads(recorded.tool("report", "--json", trainer(folder)).stdout)["traces"]
    kill = trace["facts"]["group_kill"]
    assert kill["limit_bytes"] == limit and 0 < kill["torch_bytes"] < kill["process_bytes"]
    text = recorded.tool("report", trainer(folder)).stdout
    how = "Killed by the kernel: its" if kill["seen"] else "Killed, and its recorder too, when its"
    assert text.startswith(f"{how} control group had reached its limit of ") and "(memory.max)" in text
    # The suggested commands work.
    for command in re.findall(r"dc-memtrace (show (?:live|memory) .*)", text)[:2]:
        shown = recorded.tool(*command.split())
        assert shown.returncode == 0 and shown.stdout, shown.stderr
    live = json.loads(recorded.tool("show", "live", "--at", "exit", "--json", trainer(folder)).stdout)["traces"][0]
    assert live["bytes"] > 0


def test_a_program_that_its_control_group_had_killed(tmp_path, control_group):
    """The recorder and its spool are in the same group."""
    folder = tmp_path / "out"
    command = [recorded.TOOL, "run", "-o", folder, "--", sys.executable, PROGRAM, "numpy", "--steps", "5000", "--times", "8"]
    result = subprocess.run(control_groups.command_in(control_group, command),
                            capture_output=True, text=True, timeout=180, env=recorded.environment())
    # The kernel may also kill the recorder: then `report` finishes the trace.
    assert result.returncode in (137, -9), result.stderr
    recorded.tool("report", folder)
    expect_killed(folder, 1 << 30)
    assert memory(folder)["steps"][-1]["cgroup_bytes"] > 800 * MIB


def test_the_same_in_a_simulation(tmp_path):
    """For machines without control groups: the program kills itself, and the limit is written into its trace."""
    folder = tmp_path / "out"
    program = tmp_path / "killed.py"
    program.write_text(f"import os, sys\nsys.path.insert(0, {str(PROGRAM.parent)!r})\nimport outside_torch\n"
                       "sys.argv[1:] = ['numpy', '--steps', '30']\noutside_torch.main()\nos.kill(os.getpid(), 9)\n")
    result = recorded.tool("run", "-o", folder, "--", sys.executable, program)
    assert result.returncode == 137, result.stderr
    with sqlite3.connect(trainer(folder)) as database:
        database.execute("INSERT OR REPLACE INTO meta VALUES('cgroup_limit', 536870912), ('cgroup_kills', 1)")
    expect_killed(folder, 536870912)
