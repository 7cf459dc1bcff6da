"""dc-memtrace reproduce: what was found in a program is found again in a replay of its recorded steps."""

from __future__ import annotations

import json
import re
import shutil

import function_cycles_test
import pytest
import recorded
from replays import GATHERED, RELEASE, environment, record, reproduce
from reproduced_programs import ACROSS_STEPS, MANY_IN_A_ROW, PROGRAMS, SKIPPED, TYPES

FUNCTIONS = {
    "one is kept": ("p.gather(1); alias = p.all[1].data; free(p.all[1]); torch.ones(2)", 1),
    "a view of one that shares a buffer": (
        "p.gather(0, 1); view = p.all[0].data\nfor one in p.all[:2]: free(one); torch.ones(2)", 1
    ),
    "two are never released": ("hook(p, 0)\np.gather(1, 2)\ntorch.ones(2)", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", recorded.some(FUNCTIONS, 6))
def test_parameters_that_functions_gather(tmp_path, name):
    program, findings = FUNCTIONS[name]
    (tmp_path / "sharding").mkdir()
    (tmp_path / "sharding" / "library.py").write_text(function_cycles_test.LIBRARY)
    (tmp_path / "table.toml").write_text(function_cycles_test.TABLE)
    (tmp_path / "program.py").write_text(f"import torch\nfrom sharding.library import *\np = Parameters(3)\n{program}\n")
    table = ("--operators", tmp_path / "table.toml")
    done = recorded.tool("run", "-o", tmp_path / "out", *table, "--", recorded.sys.executable, tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    (trace,) = recorded.traces(tmp_path / "out")
    (replay,) = reproduce(trace)
    assert replay["reproduced"], replay["difference"]
    assert len(replay["findings"]) == findings


@pytest.mark.parametrize("name", recorded.some(PROGRAMS, 12))
def test_every_finding_is_found_again(tmp_path, name):
    program, findings = PROGRAMS[name]
    trace = record(tmp_path / "out", program)
    replays = reproduce(trace)
    assert [replay["reproduced"] for replay in replays] == [True] * len(replays)
    assert [replay["difference"] for replay in replays] == [None] * len(replays)
    assert sorted(number for replay in replays for number in replay["findings"]) == list(range(1, findings + 1))
    for replay in replays:
        assert replay["replayed_verdicts"] == replay["recorded_verdicts"]
        assert replay["replayed_peak_bytes"] == replay["recorded_peak_bytes"]


@recorded.for_soak
@pytest.mark.parametrize("name", recorded.some(ACROSS_STEPS, 6))
def test_cycles_that_lie_across_steps(tmp_path, name):
    trace = record(tmp_path / "out", ("-c", ACROSS_STEPS[name]))
    for step in range(3):
        (replay,) = reproduce(trace, "--step", step)
        assert replay["reproduced"], replay["difference"]
    replays = reproduce(trace)
    assert [replay["difference"] for replay in replays] == [None] * len(replays)


@recorded.for_soak
def test_random_plans_are_reproduced_step_by_step(tmp_path):
    trace = record(tmp_path / "out", (recorded.PROGRAMS / "random_plan.py", "--plans", 4))
    for step in range(4):
        (replay,) = reproduce(trace, "--step", step)
        assert replay["reproduced"], replay["difference"]
        releases = recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'release' AND graph = ?", step)
        assert [(replay["releases"],)] == releases  # plan N has graph N to itself


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    options = (RELEASE, "--eager", "--steps", 3)
    return record(folder / "defect", options), record(folder / "fixed", (*options, "--fixed"))


@pytest.fixture(scope="module")
def replayed(runs, tmp_path_factory):
    """The finding of the defect, replayed as it was recorded, and the file of its plan."""
    plan = tmp_path_factory.mktemp("plan") / "plan.json"
    (replay,) = reproduce(runs[0], "--finding", 1, "-o", plan)
    return replay, plan


def test_the_plan_says_what_the_trace_says(runs, replayed):
    defect, _ = runs
    plan = json.loads(replayed[1].read_text())
    assert [buffer["bytes"] for buffer in plan["buffers"]] == [GATHERED] * 12
    assert {holder["name"] for buffer in plan["buffers"] for holder in buffer["holders"]} == {"weight"}
    order = [(event["do"], plan["buffers"][event["buffer"]]["key"])
             for event in plan["events"] if event["do"] in ("gather", "wait", "release")]  # fmt: skip
    marks = recorded.query(
        defect,
        "SELECT kind, key FROM mark WHERE kind IN ('gather', 'wait', 'release') AND cycle = 2 ORDER BY from_seq",
    )
    assert order == marks
    # The plan's peak equals that of the trace's blocks.
    assert plan["expected"]["peak_bytes"] == recorded.peak_of(defect)


def test_parameters_have_their_types_in_the_plan_and_in_the_replay(tmp_path):
    (tmp_path / "program.py").write_text(TYPES)
    done = recorded.record(tmp_path / "out", tmp_path / "program.py", env=environment())
    (trace,) = recorded.traces(tmp_path / "out")
    types = done.stdout.split()
    assert len(types) > 20 and gathered_types(trace) == types
    (replay,) = reproduce(trace, "-o", tmp_path / "plan.json")
    assert replay["reproduced"] and replay["findings"] == [1]
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert [buffer["dtype"] for buffer in plan["buffers"]] == types
    replayed = ("run", "-o", tmp_path / "again", "--", recorded.sys.executable, "-m", "dcmt_zero3.replay")
    assert recorded.tool(*replayed, tmp_path / "plan.json", env=environment()).returncode == 0
    supported = {"float16", "bfloat16", "float32", "float64", "int8", "int32", "int64"}  # by collectives
    assert supported <= set(types)
    replayed_types = gathered_types(recorded.traces(tmp_path / "again")[0])
    assert replayed_types == [name if name in supported else "int8" for name in types]


def gathered_types(trace) -> list[str]:
    rows = recorded.query(
        trace, "SELECT text FROM mark LEFT JOIN string ON string.id = dtype WHERE kind = 'gather' ORDER BY from_seq"
    )
    return [text for (text,) in rows]


def test_the_sample_is_reproduced_with_its_defect_and_with_its_fix(runs, replayed):
    defect, (fixed,) = replayed[0], reproduce(runs[1])
    for replay, findings in ((defect, [1]), (fixed, [])):
        assert replay["reproduced"] and replay["findings"] == findings and replay["releases"] == 12


def test_with_the_fix_switched_on_the_peak_is_that_of_the_fixed_program(runs):
    defect, fixed = runs
    (replay,) = reproduce(defect, "--finding", 1, "--switch", "release_clears_tensor_only=off")
    assert replay["reproduced"] is None
    assert replay["recorded_verdicts"]["late"] == replay["replayed_verdicts"]["freed"] == 12
    assert replay["replayed_peak_bytes"] == replay["predicted_peak_bytes"] == recorded.peak_of(fixed)
    assert replay["recorded_peak_bytes"] == recorded.peak_of(defect)
    (names,) = reproduce(defect, "--finding", 1, "--switch", "wrapper_keeps_aliases=off")
    assert names["replayed_peak_bytes"] == recorded.peak_of(fixed)


PLAYED_UNDER_THE_PROFILER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import training_report
from dcmt_zero3 import replay
class Over(Exception):
    pass
def end(stage):
    raise Over
replay.Stage.end = end
with training_report.memory_counts(True) as counts:
    try:
        replay.run(sys.argv[2], json.loads(sys.argv[3]))
    except SystemExit:
        pass
print(json.dumps(counts))
"""


@pytest.mark.parametrize("fixed", recorded.some([False, True], 2))
def test_the_peak_is_the_one_that_torch_counts(runs, replayed, tmp_path, fixed):
    """Independent of the recorder and the analyzer: torch's profiler observes the replay's allocations."""
    switches = {"release_clears_tensor_only": False} if fixed else {}
    replay, plan = replayed
    if fixed:
        plan = tmp_path / "plan.json"
        (replay,) = reproduce(runs[0], "--finding", 1, "--switch", "release_clears_tensor_only=off", "-o", plan)
    program = ("-c", PLAYED_UNDER_THE_PROFILER, recorded.PROGRAMS, plan, json.dumps(switches))
    played = recorded.python(*program, env=environment())
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout.splitlines()[-1])["peak_bytes"] == replay["replayed_peak_bytes"]


@pytest.mark.parametrize(
    "switches, verdict",
    [
        (("release_clears_tensor_only",), "late"),
        (("release_clears_tensor_only=on", "wrapper_keeps_aliases"), "never"),
        (("eager_gather_without_owner",), None),  # nothing is released
    ],
)
def test_a_fixed_program_has_the_defect_where_it_is_switched_on(runs, switches, verdict):
    _, fixed = runs
    (replay,) = reproduce(fixed, "--step", 1, *(word for switch in switches for word in ("--switch", switch)))
    assert counted(replay["recorded_verdicts"]) == {"freed": 12}
    assert counted(replay["replayed_verdicts"]) == ({verdict: 12} if verdict else {})


def counted(verdicts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in verdicts.items() if count}


@recorded.for_soak
@pytest.mark.parametrize(
    "program, switch, before, after",
    recorded.some(
        [
            ((SKIPPED, "--early"), "early_release_before_backward=off", {"freed": 44, "early": 4}, {"freed": 48}),
            ((SKIPPED, "--steps", 1), "eager_gather_without_owner=off", {"freed": 48}, {"freed": 56}),
        ],
        2,
    ),
)
def test_other_fixes(tmp_path, program, switch, before, after):
    (replay,) = reproduce(record(tmp_path / "out", program), "--switch", switch)
    assert (counted(replay["recorded_verdicts"]), counted(replay["replayed_verdicts"])) == (before, after)


PARTS_WITH_TWO_USES = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    parts = flat[:20_000], flat[20_000:]
    for key, part in enumerate(parts):
        dm.gather(key, part)
    for key in (0, 0, 1, 1):
        dm.release(key, 2)
        torch.ones(10_000 * (key + 1))
main()
torch.ones(2)
dm.step(0)
"""


def test_parts_of_a_storage_are_freed_with_the_last_one_of_them(tmp_path):
    trace = record(tmp_path / "out", ("-c", PARTS_WITH_TWO_USES))
    (replay,) = reproduce(trace, "--switch", "release_clears_tensor_only=off")
    assert counted(replay["recorded_verdicts"]) == {"counted": 2, "shared": 1, "late": 1}
    assert counted(replay["replayed_verdicts"]) == {"counted": 2, "shared": 1, "freed": 1}
    assert replay["recorded_peak_bytes"] == replay["replayed_peak_bytes"] == 160_000 + 80_000


ACTING = {
    "release_clears_tensor_only": {"", "=on", "=off"},
    "wrapper_keeps_aliases": {"", "=on", "=off"},
    "eager_gather_without_owner": {"", "=on", "=off"},
    "early_release_before_backward": {"=off"},
}
ACCEPTED = """
import argparse, sys
from dcmt_zero3 import replay
for text in sys.argv[1:]:
    try:
        replay._switch(text)
        print(text)
    except argparse.ArgumentTypeError:
        pass
"""


def test_switches_that_do_not_act_on_a_plan_are_refused(runs, tmp_path):
    defect, _ = runs
    names = re.findall(r'Named\{"(\w+)"', (recorded.ROOT / "executor" / "switches.cpp").read_text())
    assert set(ACTING) < set(names)
    texts = [name + value for name in (*names, "as_published", "nonsense") for value in ("", "=on", "=off", "=", "=1")]
    acting = [text for text in texts if text.removeprefix(name := text.split("=")[0]) in ACTING.get(name, ())]
    assert recorded.python("-c", ACCEPTED, *texts, env=environment()).stdout.split() == acting

    acting_words = [name if len(values) == 3 else name + "=off" for name, values in ACTING.items()]

    def line(text: str) -> str:
        return f"--switch: '{text}' does not act on a plan; these do: {', '.join(acting_words)}"

    for text in (text for text in texts if text not in acting):
        refused = recorded.tool("reproduce", defect, "--switch", text)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == f"dc-memtrace: {line(text)}. See: dc-memtrace reproduce --help\n"
    refused = recorded.python("-m", "dcmt_zero3.replay", "plan.json", "--switch", "undeclared_alias", env=environment())
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"dcmt_zero3.replay: argument {line('undeclared_alias')}\n"


WITHOUT_A_GATHER_IN_ONE_STEP = """
import torch, dc_memtrace as dm
weight = torch.empty(20_000)
dm.gather(1, weight)
dm.release(1)
torch.ones(2)
dm.step(0)
try:
    torch.empty(1 << 50, dtype=torch.int8)
except RuntimeError:
    pass
torch.ones(2)
dm.step(1)
"""


def test_a_finding_that_cannot_be_played_is_reported_and_the_others_are_played(tmp_path):
    trace = record(tmp_path / "out", ("-c", WITHOUT_A_GATHER_IN_ONE_STEP))
    done = recorded.tool("reproduce", "--json", trace)
    assert done.returncode == 0, done.stderr
    (replay,) = json.loads(done.stdout)["traces"][0]["replays"]
    assert replay["findings"] == [2] and replay["reproduced"], replay["difference"]
    assert done.stderr == (
        f"dc-memtrace: {trace}: finding 1: nothing was gathered there: there is no release to replay.\n"
    )
    alone = recorded.tool("reproduce", trace, "--finding", 1)
    assert (alone.returncode, alone.stderr) == (3, done.stderr)


@pytest.mark.parametrize("temporary", ["/proc", "/no/such/folder"])
def test_without_a_temporary_folder_nothing_is_played_and_nothing_replaced(runs, tmp_path, temporary):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept.dcmt").write_text("mine")
    done = recorded.tool("reproduce", runs[0], cwd=tmp_path, env=recorded.environment(TMPDIR=temporary))
    assert done.returncode == 4 and "TMPDIR" in done.stderr and done.stderr.count("\n") == 1
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["out", "out/kept.dcmt"]
    assert (tmp_path / "out" / "kept.dcmt").read_text() == "mine"


def test_what_the_executor_cannot_do_is_not_called_reproduced(tmp_path):
    """After a thousand consecutive releases without an operator in between, which the executor counts as one."""
    trace = record(tmp_path / "out", ("-c", MANY_IN_A_ROW))
    (replay,) = reproduce(trace, code=1)
    assert replay["reproduced"] is False
    assert replay["difference"]["what"] == "verdict" and replay["difference"]["release"] == 1024
    shown = recorded.tool("reproduce", trace)
    assert shown.returncode == 1
    assert "no, the first difference: verdict of release 1025 of 1030: id 1024 of graph 0" in shown.stdout


def test_errors_are_one_line_with_their_code(runs, tmp_path):
    defect, _ = runs

    def fails(code: int, text: str, *arguments, program=recorded.TOOL):
        done = recorded.subprocess.run([program, "reproduce", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert text in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""

    fails(2, "has no finding 7", defect, "--finding", 7)
    fails(2, "has no step 7", defect, "--step", 7)
    fails(2, "--switch excludes --emit", defect, "--switch", "wrapper_keeps_aliases=off", "--emit", "-")
    fails(3, "no-such-trace", "no-such-trace.dcmt")
    fails(4, "failed (exit 127)", defect, "--python", "/no/python")
    # A build without the executor.
    (tmp_path / "bin").mkdir()
    alone = shutil.copy(recorded.TOOL, tmp_path / "bin" / "dc-memtrace")
    fails(4, "the executor is not part of this installation", defect, program=alone)
