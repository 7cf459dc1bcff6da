"""Small programs that gather and release: recorded with detail `lifetimes`, each alone (`run`) or all of a file in one
process (`together`), which imports torch once."""

from __future__ import annotations

import pathlib
import textwrap

import pytest
import recorded

OPERATORS = """
[[operator]]
pattern = "cases::gather"
role = "gather"
graph = "graph"
key = "id"
[[operator]]
pattern = "cases::release"
role = "release"
graph = "graph"
key = "id"
count = "n"
"""

PRELUDE = """
import functools, threading, types, torch, dc_memtrace as dm
torch.set_num_threads(1)
lib = torch.library.Library("cases", "DEF")
lib.define("gather(Tensor shard, int graph, int id) -> Tensor")
lib.define("release(Tensor(a) t, int graph, int id, int n) -> Tensor(a)")
"""


# The part of dc_memtrace that a case of `together` has: its marks are of its own graph.
OF_ONE_GRAPH = """
releases = {}
lib.impl("gather", lambda shard, graph, id: shard.repeat(2), "CPU")
lib.impl("release", lambda t, graph, id, n: releases[graph](t, id, n), "CPU")
def of_graph(number):
    gather, release = (functools.partial(each, graph=number) for each in (dm.gather, dm.release))
    return types.SimpleNamespace(graph=number, gather=gather, release=release, step=dm.step)
"""


def record(folder: pathlib.Path, program: str, output: str = "") -> tuple[pathlib.Path, dict]:
    """The trace of a program, and its report."""
    operators, script = folder / "operators.toml", folder / "program.py"
    operators.write_text(OPERATORS)
    script.write_text(PRELUDE + program)
    result = recorded.tool("run", "-o", folder / "out", "--operators", operators, "--", recorded.sys.executable, script)
    assert result.returncode == 0, result.stderr
    # No case has an operator for every row of the table.
    errors = [line for line in result.stderr.splitlines() if "operators.toml:" not in line]
    assert (result.stdout, errors) == (output, []), "the job's output changed"
    (trace,) = recorded.traces(folder / "out")
    (seen,) = recorded.report(folder / "out")
    return trace, seen


@pytest.fixture
def run(tmp_path):
    return lambda program, output="": record(tmp_path, program, output)


def together(program: str):
    """Marks a test: its program is a function of the process in which all such programs of the file run."""

    def mark(test):
        test.program = program
        return test

    return mark


class Seen:
    """What was recorded of one program of several: its marks have its graph."""

    def __init__(self, trace: pathlib.Path, report: dict, graph: int):
        self.trace, self.graph = trace, graph
        keys = [([item["key"] for item in finding["items"]], finding) for finding in report["findings"]]
        self.findings = [finding for items, finding in keys if any(key["graph"] == graph for key in items)]

    def marks(self, columns: str, kind: str) -> list[tuple]:
        return recorded.query(
            self.trace,
            f"SELECT {columns} FROM mark LEFT JOIN string ON string.id = name WHERE kind = ? AND graph = ? ORDER BY from_seq",
            kind,
            self.graph,
        )

    def reads(self) -> list[str]:
        return [name for (name,) in self.marks("text", "read")]

    def of_censuses(self, columns: str, table: str, order: str) -> list[tuple]:
        """Rows of the censuses at the program's releases."""
        return recorded.query(
            self.trace,
            f"SELECT {columns} FROM {table} WHERE census IN (SELECT c.id FROM mark c JOIN mark r ON r.id = c.parent"
            f" WHERE c.kind = 'census' AND r.graph = ?) ORDER BY {order}",
            self.graph,
        )


@pytest.fixture(scope="module")
def recorded_together(request, tmp_path_factory):
    tests = {name: each.program for name, each in vars(request.module).items() if hasattr(each, "program")}
    text = OF_ONE_GRAPH
    for graph, (name, program) in enumerate(tests.items(), 1):
        text += f"def {name}(dm):\n{textwrap.indent(program, '    ')}\n{name}(of_graph({graph}))\n"
    trace, report = record(tmp_path_factory.mktemp("together"), text)
    return {name: Seen(trace, report, graph) for graph, name in enumerate(tests, 1)}


@pytest.fixture
def seen(request, recorded_together):
    return recorded_together[request.function.__name__]
