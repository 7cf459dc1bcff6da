"""The ranks of a run together: `show ranks` reports what each rank itself wrote down, and `report` refers to it."""

from __future__ import annotations

import functools
import json
import pathlib

import pytest
import recorded
from simulated_ranks import KEEPS, simulate

# A plan is a list of steps, a step a list of (key, elements gathered, freed at its release).
RANK = """
import json, sys, torch, dc_memtrace as dm
torch.set_num_threads(1)
kept = []
for number, step in enumerate(json.loads(sys.argv[1])):
    for key, elements, freed in step:
        weight = torch.ones(elements)
        dm.gather(key, weight, graph=id(dm))  # a number of this process only, as DeepSpeed's are
        with dm.release(key, graph=id(dm)):
            if freed:
                weight.untyped_storage().resize_(0)
        kept.append(weight)
        torch.ones(2)
    kept.clear()
    dm.step(number)
"""

ELEMENTS = 50_000


def plan(*steps: list[int], kept: tuple[int, ...] = (), elements: int = ELEMENTS) -> list:
    return [[(key, elements, key not in kept) for key in step] for step in steps]


@pytest.fixture(scope="module")
def trace_of(tmp_path_factory):
    """The trace of a program with a plan. Each is recorded once; ranks with the same plan have copies."""

    @functools.cache
    def folder_of(program: str) -> pathlib.Path:
        folder = tmp_path_factory.mktemp("program")
        (folder / "rank.py").write_text(program)
        return folder

    @functools.cache
    def record(program: str, plan: str) -> pathlib.Path:
        folder = folder_of(program)
        out = folder / f"out{len(list(folder.glob('out*')))}"
        recorded.record(out, folder / "rank.py", plan, env=recorded.environment(RANK="0", WORLD_SIZE="8"))
        (trace,) = recorded.traces(out)
        return trace

    return record


@pytest.fixture
def show(tmp_path, trace_of):
    def run(*plans: object, program: str = RANK) -> tuple[dict, str, str]:
        traces = [trace_of(program, json.dumps(steps)) for steps in plans]
        folder = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        simulate(folder, traces[0], len(traces), dict(enumerate(traces)), world_size=len(traces) + 1)
        shown = recorded.tool("show", "ranks", "--json", folder)
        assert shown.returncode == 0, shown.stderr
        text = recorded.tool("show", "ranks", folder)
        report = recorded.tool("report", folder)
        assert text.returncode == report.returncode == 0, text.stderr + report.stderr
        return json.loads(shown.stdout), text.stdout, report.stdout

    return run


def test_ranks_that_do_the_same_are_one_row(show):
    same = plan([3, 1, 2], [3, 1, 2], kept=(1,))
    seen, text, report = show(same, same, same)
    assert not seen["differs"]
    assert seen["missing_ranks"] == [3]
    assert [rank["rank"] for rank in seen["ranks"]] == [0, 1, 2]
    for rank in seen["ranks"]:
        assert (rank["gathers"], rank["final_releases"], rank["steps"]) == (6, 6, 2)
        assert [key["key"] for key in rank["residual"]] == [1]
        assert rank["residual_bytes"] == 4 * ELEMENTS
    assert "3 ranks gather alike" in text
    assert "rank 3 of 4 has no trace" in text
    assert "\n  0 to 2  cpu" in text
    assert "show ranks" not in report


def test_the_first_difference_is_what_the_plans_say(show):
    plans = [
        plan([0, 1, 2], [0, 1, 2], [0, 1, 2]),
        plan([0, 1, 2], [0, 2, 1], [0, 1], kept=(2,)),
        plan([0, 1, 2], [0, 1, 2], [0, 1, 2], elements=ELEMENTS + 2),
    ]
    seen, text, report = show(*plans)
    order = seen["gather_order"]
    assert (order["step"], order["position"], order["steps"]) == (1, 1, [1, 2])
    for branch in order["branches"]:
        for rank in branch["ranks"]:
            expected = [key for key, _, _ in plans[rank][order["step"]]]
            assert order["before"]["key"] == expected[0]
            assert branch["key"]["key"] == expected[1]
            assert [key["key"] for key in branch["next"]] == expected[2:]
            assert "rank.py" in branch["site"]
    assert sorted(rank for branch in order["branches"] for rank in branch["ranks"]) == [0, 1, 2]
    assert [item["key"]["key"] for item in seen["residual"]] == [2]
    assert [(side["ranks"], side["fate"]) for side in seen["residual"][0]["sides"]] == [
        ([1], "residual"),
        ([0, 2], "freed"),
    ]
    assert [item["key"]["key"] for item in seen["parameters"]] == [0, 1, 2]
    for item in seen["parameters"]:
        bytes_of = {rank: side["gathered_bytes"] for side in item["sides"] for rank in side["ranks"]}
        assert bytes_of == {0: 4 * ELEMENTS, 1: 4 * ELEMENTS, 2: 4 * ELEMENTS + 8}
    numbers = [graphs["numbers"] for graphs in seen["graphs"]]
    assert numbers == [] or all(len(own) == 1 for own in numbers)
    assert text.startswith("The ranks gather in different orders, first at step 1, gather 2:")
    assert "next: dc-memtrace show ranks " in report


def test_the_rank_that_keeps_its_outputs_and_the_line_that_makes_them(show):
    seen, text, report = show(False, True, False, program=KEEPS)
    assert seen["differs"] and seen["gather_order"] is None
    memory = seen["memory"]
    assert [side["ranks"] for side in memory["peaks"]] == [[1], [0, 2]]
    growth = {tuple(side["ranks"]): side["bytes_a_step"] for side in memory["growth"]}
    assert growth == {(1,): 1 << 20, (0, 2): 0}
    first = memory["places"][0]
    assert first["site"].endswith("rank.py:8 <module>") and first["from_step"] == 1
    assert first["holder"] == "main.log"
    assert "from the end of step 1 on. main.log holds it on rank 1.\n" in text
    assert "The ranks differ in 1 finding; in their peaks" in report and "next: dc-memtrace show ranks" in report
    seen, text, report = show(False, False, program=KEEPS)
    assert not seen["differs"] and "2 ranks are alike in peaks, growth and findings" in text
    assert "The ranks differ" not in report
