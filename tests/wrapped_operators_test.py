"""Operators are wrapped while two threads call them and a third registers others: nothing crashes, no call is missed.

DCMT_WRAP_RUNS says how often; twice without it.
"""

from __future__ import annotations

import json
import os

import recorded

RUNS = int(os.environ.get("DCMT_WRAP_RUNS", "2"))
OPERATORS = 1500
TABLE = """
[[operator]]
pattern = "wrapped::*"
role = "gather"
graph = "graph"
key = "key"
"""


def test_every_call_is_seen_and_none_crashes(tmp_path):
    table = tmp_path / "operators.toml"
    table.write_text(TABLE)
    for run in range(RUNS):
        folder = tmp_path / str(run)
        done = recorded.tool("run", "-o", folder, "--operators", table, "--", recorded.BUILD / "bin" / "wrapped_operators", OPERATORS)
        assert done.returncode == 0, f"run {run}: {done.stderr}"
        (trace,) = recorded.traces(folder)
        seen = recorded.query(trace, "SELECT count(*), count(DISTINCT graph) FROM mark WHERE kind = 'gather' AND key < 10")
        assert seen == [(json.loads(done.stdout)["calls"], OPERATORS)], f"run {run}"
        # The machine's clock may jump.
        assert recorded.query(trace, "SELECT code FROM diagnostic WHERE code != 'clock'") == []
        for file in folder.iterdir():
            file.unlink()
    print(f"{RUNS} runs of {OPERATORS} operators")
