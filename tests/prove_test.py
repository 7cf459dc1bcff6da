"""`prove`: what a release leaves is fenced, and who touches it is named; nothing that the program computes changes."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "kept_after_release.py"
STEPS = 3
WIDTH = 300
KEYS = 5


def line_of(function: str) -> int:
    (number,) = (i for i, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith(f"# line of {function}"))
    return number


def prove(trace, folder, *command: object, finding: int = 1, by: str = "fence",
          flags: tuple[object, ...] = recorded.SAMPLE_OPERATORS, **options):
    options.setdefault("timeout", 900)  # up to four recordings
    return recorded.tool("prove", trace, "--finding", finding, "--by", by, "-o", folder, *flags, "--",
                         recorded.sys.executable, *command, **options)


def proof_of(folder) -> list[dict]:
    (seen,) = recorded.report(folder)
    return [finding["proof"] for finding in seen["findings"] if finding["proof"] is not None]


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    """The folder of a run without touches, and what the program prints."""
    folder = tmp_path_factory.mktemp("ordinary") / "out"
    return folder, recorded.record(folder, PROGRAM, flags=recorded.SAMPLE_OPERATORS).stdout


def test_an_ordinary_run_proves_nothing(ordinary):
    folder, _ = ordinary
    (seen,) = recorded.report(folder)
    (finding,) = seen["findings"]
    assert finding["rule"] == "residual" and finding["proof"] is None
    assert "not proved: reads are observed, not prevented" in recorded.tool("report", folder).stdout
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind LIKE 'fence%'") == [(0,)]


def test_what_nobody_touches_is_proved(ordinary, tmp_path):
    folder, printed = ordinary
    run = prove(folder, tmp_path / "out", PROGRAM)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"proved: nobody touched it in {KEYS * STEPS} releases, {STEPS} steps (forked processes" in run.stdout
    assert run.stdout.startswith(printed), "losses, or closed pages that are left"
    assert "closed mappings 0" in printed
    (proof,) = proof_of(tmp_path / "out")
    assert (proof["verdict"], proof["releases"], proof["touched"]) == ("proved", KEYS * STEPS, 0)
    assert proof["bytes"] == proof["fenced_bytes"] == KEYS * STEPS * WIDTH * WIDTH * 4
    assert "proved: nobody touched it" in recorded.tool("report", tmp_path / "out").stdout


def test_each_touch_is_named_with_its_line(ordinary, tmp_path):
    folder, printed = ordinary
    run = prove(folder, tmp_path / "out", PROGRAM, "--touch")
    assert run.returncode == 1, run.stdout + run.stderr
    assert run.stdout.startswith(printed)
    assert "touched by " in run.stdout
    touches = [touch for proof in proof_of(tmp_path / "out") for touch in proof["touches"]]
    assert {proof["verdict"] for proof in proof_of(tmp_path / "out")} == {"touched"}
    (trace,) = recorded.traces(tmp_path / "out")
    seen = dict.fromkeys(range(KEYS))
    for touch in touches:
        ((key,),) = recorded.query(trace, "SELECT key FROM mark WHERE id = ?", touch["mark"])
        frame = touch["by"]["stack"][0]
        assert seen[key] in (None, (frame["function"], frame["line"], touch["name"]))
        seen[key] = (frame["function"], frame["line"], touch["name"])
        assert not touch["writes"]
    assert seen[0] == ("by_operator", line_of("by_operator"), "aten::_local_scalar_dense")
    assert seen[1][:2] == seen[3][:2] == ("by_numpy", line_of("by_numpy"))
    assert seen[2][:2] == ("by_address", line_of("by_address"))
    assert seen[4] is None
    assert len(touches) == 4 * STEPS
    offsets = {touch["offset"] for touch in touches}
    assert offsets == {(100 * WIDTH + 7) * 4, (WIDTH * WIDTH - 1) * 4, 0}


def test_poison_changes_no_result_of_what_nobody_touches(ordinary, tmp_path):
    folder, printed = ordinary
    run = prove(folder, tmp_path / "out", PROGRAM, by="poison")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith(printed * 4)
    assert f"no result changed when what {KEYS * STEPS} releases in {STEPS} steps left was overwritten" in run.stdout
    # Each step has the gradients of a weight and of a bias, and two numbers that are printed.
    assert f"{2 * STEPS} gradients and {2 * STEPS} numbers that the program read are equal to the bit" in run.stdout


def test_what_a_release_left_is_freed_and_the_peak_is_measured(ordinary, tmp_path):
    folder, printed = ordinary
    run = recorded.tool(
        "prove", folder, "--finding", 1, "--by", "free", "--json", "-o", tmp_path / "out", *recorded.SAMPLE_OPERATORS, "--",
        recorded.sys.executable, PROGRAM, timeout=900)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr.startswith(printed * 3)
    proved = json.loads(run.stdout)
    assert (proved["verdict"], proved["by"], proved["exit"]) == ("unchanged", "free", 0)
    (process,) = proved["processes"]
    assert process["results"] == {"gradients": 2 * STEPS, "numbers": 2 * STEPS, "first": None}
    (trace,) = recorded.traces(tmp_path / "out" / "freed")
    (plain,) = recorded.traces(folder)
    assert process["peak"]["measured_bytes"] == process["peak"]["predicted_bytes"] == recorded.peak_of(trace)
    assert process["peak"]["before_bytes"] == recorded.peak_of(plain)
    assert recorded.report(tmp_path / "out" / "freed")[0]["findings"] == []


@pytest.fixture(scope="module")
def with_an_address(tmp_path_factory):
    """DeepCompile numbers graphs so: no other run has the number that this one has."""
    folder = tmp_path_factory.mktemp("address") / "out"
    recorded.record(folder, PROGRAM, "--address", flags=recorded.SAMPLE_OPERATORS)
    return folder


@pytest.mark.parametrize("by", ["fence", "free"])
def test_a_graph_whose_number_is_an_address_is_recognized(with_an_address, tmp_path, by):
    graphs = set()
    run = prove(with_an_address, tmp_path / "out", PROGRAM, "--address", by=by)
    assert run.returncode == 0, run.stdout + run.stderr
    if by == "fence":
        assert f"proved: nobody touched it in {KEYS * STEPS} releases" in run.stdout
    else:
        assert recorded.report(tmp_path / "out" / "freed")[0]["findings"] == []
    for folder in (with_an_address, *([tmp_path / "out"] if by == "fence" else (tmp_path / "out").iterdir())):
        for trace in recorded.traces(folder):
            graphs |= set(recorded.query(trace, "SELECT DISTINCT graph FROM mark WHERE kind = 'gather'"))
    assert len(graphs) == (2 if by == "fence" else 4), "the numbers differ, or this shows nothing"


def test_a_run_that_somebody_ends_is_said_so(ordinary, tmp_path):
    """A launcher of ranks ends with a code of its own then."""
    folder, _ = ordinary
    program = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\n" \
              "import torch; x = torch.ones(70_000); print('begun', flush=True); time.sleep(60)"
    running = subprocess.Popen(
        [str(word) for word in (recorded.TOOL, "prove", folder, "--finding", 1, "--by", "free", "-o", tmp_path / "out", "--",
                                recorded.sys.executable, "-c", program)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert running.stdout.readline() == "begun\n"
    running.terminate()
    output, errors = running.communicate(timeout=300)
    assert "not proved: the command was ended" in output, output + errors


def test_the_sample_of_the_main_job_is_proved(tmp_path):
    sample = (recorded.SAMPLE, "--eager", "--steps", 2)
    plain = recorded.record(tmp_path / "out", *sample).stdout
    run = prove(tmp_path / "out", tmp_path / "proof", *sample, flags=())
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith(plain)
    assert "proved: nobody touched it in 24 releases, 2 steps" in run.stdout


@recorded.for_soak
def test_the_compiled_sample_is_proved(tmp_path):
    sample = (recorded.SAMPLE, "--steps", 2)
    plain = recorded.record(tmp_path / "out", *sample).stdout
    run = prove(tmp_path / "out", tmp_path / "proof", *sample, flags=())
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith(plain)


def test_errors_say_what_to_do(ordinary, tmp_path):
    folder, _ = ordinary
    line = recorded.one_line(prove(folder, tmp_path / "out", PROGRAM, finding=7), 2)
    assert "has no finding 7" in line
    line = recorded.one_line(recorded.tool("prove", folder, "--finding", 1), 2)
    assert re.search(r"-- train\.py", line)
    assert not (tmp_path / "out").exists()


def test_a_run_without_these_parameters_proves_nothing(ordinary, tmp_path):
    folder, _ = ordinary
    run = prove(folder, tmp_path / "out", "-c", "import torch; torch.ones(70_000)")
    assert run.returncode == 6, run.stdout + run.stderr
    assert "not proved: none of these parameters was released" in run.stdout
