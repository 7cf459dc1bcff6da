"""Small programs that gather and release: recorded with detail `lifetimes`."""

from __future__ import annotations

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
import threading, torch, dc_memtrace as dm
torch.set_num_threads(1)
lib = torch.library.Library("cases", "DEF")
lib.define("gather(Tensor shard, int graph, int id) -> Tensor")
lib.define("release(Tensor(a) t, int graph, int id, int n) -> Tensor(a)")
"""


@pytest.fixture
def run(tmp_path):
    def run_program(text: str, output: str = ""):
        operators = tmp_path / "operators.toml"
        operators.write_text(OPERATORS)
        program = tmp_path / "program.py"
        program.write_text(PRELUDE + text)
        folder = tmp_path / "out"
        result = recorded.tool(
            "run", "-o", folder, "--operators", operators, "--", recorded.sys.executable, program
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        # No case has an operator for every row of the table.
        errors = [line for line in result.stderr.splitlines() if "operators.toml:" not in line]
        assert (result.stdout, errors) == (output, []), "the job's output changed"
        (trace,) = recorded.traces(folder)
        (seen,) = recorded.report(folder)
        return trace, seen

    return run_program


def reads(trace) -> list[str]:
    return [
        name
        for (name,) in recorded.query(
            trace, "SELECT text FROM mark JOIN string ON string.id = mark.name WHERE kind = 'read' ORDER BY from_seq"
        )
    ]
