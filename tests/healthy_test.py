"""Correct programs have no finding, and compute the same with the tool and without. Each with one planted residual, or
with one buffer that leaked from its pool, has a finding, by the same options: silence means something."""

from __future__ import annotations

import functools

import pytest
import recorded

FOLDER = recorded.ROOT / "tests" / "healthy"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("run", "sharded"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """All programs run in one process: importing torch needs more time than any of them."""

    @functools.cache
    def report_of(*flags: str) -> tuple[dict, str]:
        folder = tmp_path_factory.mktemp("healthy") / "out"
        result = recorded.record(folder, FOLDER / "run.py", *flags, *NAMES)
        main = max(recorded.traces(folder), key=lambda path: path.stat().st_size)  # workers have traces, too
        return recorded.report(main)[0], result.stdout

    return report_of


def of_program(report: dict, name: str) -> list[str]:
    """The rules of the findings about this program's parameters."""
    graph = NAMES.index(name)
    return [
        finding["rule"]
        for finding in report["findings"]
        if any(item["key"]["graph"] == graph for item in finding["items"])
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_program_has_no_finding(run, name):
    report, _ = run()
    assert of_program(report, name) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_planted_defect_is_found(run, name):
    report, _ = run("--plant")
    assert set(of_program(report, name)) == {"residual"}


def test_nothing_else_is_found(run):
    report, _ = run()
    assert report["findings"] == []


@recorded.for_soak
def test_numbers_are_the_same_without_the_tool(run):
    _, output = run()
    plain = recorded.python(FOLDER / "run.py", *NAMES)
    assert plain.returncode == 0, plain.stderr
    assert output == plain.stdout


def test_what_is_by_design_is_said_with_its_bytes(run):
    report, _ = run()
    remarks = {}
    for remark in report["remarks"]:
        remarks.setdefault(remark["kind"], []).append(remark)
    assert set(remarks) <= {"pool", "kept", "steps_in_turn"}
    (ring,) = [pool for pool in remarks["pool"] if pool["count"] == 4]
    assert ring["bytes"] == 4 * 172 * 172 * 4


TWO_RANKS = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
FSDP2 = FOLDER / "alone" / "fsdp2.py"


def rules_of_ranks(folder, *flags: str) -> tuple[list[list[str]], list[dict], str]:
    """The rules of each rank's findings, all remarks, and the program's output."""
    result = recorded.record(folder, *TWO_RANKS, FSDP2, *flags)
    ranks = [recorded.report(folder / f"rank{rank}.dcmt")[0] for rank in (0, 1)]
    rules = [[finding["rule"] for finding in rank["findings"]] for rank in ranks]
    return rules, [remark for rank in ranks for remark in rank["remarks"]], result.stdout


@recorded.for_soak
def test_fsdp2_that_trains_and_evaluates_has_no_finding_and_the_same_numbers(tmp_path):
    rules, remarks, output = rules_of_ranks(tmp_path / "out")
    assert rules == [[], []]
    assert {remark["kind"] for remark in remarks} == {"stays_gathered"}
    plain = recorded.python(*TWO_RANKS, FSDP2)
    assert plain.returncode == 0, plain.stderr
    assert output == plain.stdout


def test_a_release_that_fsdp2_leaves_out_is_found(tmp_path):
    rules, _, _ = rules_of_ranks(tmp_path / "out", "--plant")
    assert rules == [["never_released"]] * 2


def test_the_programs_are_as_many_as_they_should_be():
    assert len(NAMES) >= 24
