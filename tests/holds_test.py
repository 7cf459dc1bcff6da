"""Points of a program's work at which it waits while its variables are read (docs/decisions/holders.md)."""

from __future__ import annotations

import sqlite3

import pytest
import recorded

#: Six turns of a loop inside a function, without an optimizer and without a backward. It is over before a clock would
#: have begun a reading, and nothing of it is left at the program's end.
PROGRAM = """
import torch

torch.set_num_threads(1)


def evaluate(kept):
    weight = torch.randn(256, 1024)
    seen = []
    for _ in range(6):
        with torch.no_grad():
            hidden = torch.randn(256, 256) @ weight
            out = hidden.relu() @ weight.T
        if kept:
            seen.append(out)
        del hidden, out
    return len(seen)


import sys
print(evaluate("--numbers" not in sys.argv))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("holds") / "evaluation.py"
    path.write_text(PROGRAM)
    return path


def waits_of(trace) -> dict[str, int]:
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT key, value FROM meta WHERE key IN ('holds', 'held_ns', 'longest_hold_ns')")
        return {key: int(value) for key, value in rows}


def test_a_short_loop_in_a_function_is_read_while_it_runs(program, tmp_path):
    result = recorded.record(tmp_path / "out", program)
    trace = recorded.traces(tmp_path / "out")[0]
    waits = waits_of(trace)
    assert waits["holds"] >= 1
    assert waits["longest_hold_ns"] <= 600_000_000
    assert waits["held_ns"] <= 1_200_000_000
    (finding,) = recorded.report(trace)[0]["findings"]
    assert finding["rule"] == "grows"
    assert finding["growth"]["holder"] == "evaluate: seen"
    assert finding["growth"]["unit"] == "call"
    assert [each["text"] for each in finding["growth"]["stored_by"]] == ["seen.append(out)"]
    assert result.stdout.strip().endswith("6")


def test_without_the_list_nothing_grows(program, tmp_path):
    recorded.record(tmp_path / "out", program, "--numbers")
    assert recorded.report(recorded.traces(tmp_path / "out")[0])[0]["findings"] == []


def test_a_program_that_does_not_want_it_never_waits(program, tmp_path):
    recorded.record(tmp_path / "out", program, flags=("--no-hold",))
    assert waits_of(recorded.traces(tmp_path / "out")[0]) == {}
