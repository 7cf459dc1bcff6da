"""dc-memtrace reproduce: what was found in a program is found again in a replay of its recorded steps."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil

import function_cycles_test
import pytest
import recorded

SAMPLES = recorded.ROOT / "samples"
RELEASE = SAMPLES / "zero3_release" / "train.py"
SKIPPED = SAMPLES / "zero3_skipped_frame" / "train.py"
OFFLOAD = SAMPLES / "zero3_offload" / "train.py"
HEALTHY = recorded.ROOT / "tests" / "healthy" / "run.py"
TRAIN = ("-m", "dcmt_zero3.train", "--steps", "2", "--layers", "1", "--ranks", "2")
TENSOR_ONLY = ("--switch", "release_clears_tensor_only")
GATHERED = 1_048_580  # of each weight of samples/zero3_release
FLAT_BUFFER = """
import torch, dc_memtrace as dm
pool = torch.empty(100_000)
for key in (1, 2, 1, 2):
    weight = pool.view(100, 1000)
    dm.gather(key, weight)
    weight.mul_(2)
    del weight
    with dm.release(key):
        pass
    torch.ones(2)
"""
TYPES = """
import torch, dc_memtrace as dm
def main():
    types = [value for value in vars(torch).values() if isinstance(value, torch.dtype) and not value.is_complex]
    for key, dtype in enumerate(sorted(set(types), key=str)):
        try:
            weight = torch.empty(16_000, dtype=torch.int8).view(dtype)
        except RuntimeError:
            continue  # of less than a byte, or quantized
        print(str(dtype).removeprefix("torch."))
        dm.gather(key, weight)
        dm.release(key)
        torch.ones(2)
main()
"""
GOES_IN_THE_LAST_OPERATOR = """
import torch, dc_memtrace as dm
held = {}
lib = torch.library.Library("my", "DEF")
lib.define("finish(Tensor t) -> Tensor")
def finish(t):
    result = t.clone()
    held.clear()
    return result
lib.impl("finish", finish, "CPU")
held[1] = torch.empty(20_000)
dm.gather(1, held[1])
torch.ops.my.finish(torch.ones(2))
"""
CUT_OFF = """
import os, signal, torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    dm.release(1)
    torch.ones(2)
    os.kill(os.getpid(), signal.SIGKILL)
main()
"""
HELD_BY_A_THREAD = """
import threading, torch, dc_memtrace as dm
done, leave = threading.Event(), threading.Event()
def work():
    weight = torch.empty(30_000)
    dm.gather(1, weight)
    dm.release(1)
    torch.ones(2)
    done.set()
    leave.wait()
thread = threading.Thread(target=work)
thread.start()
done.wait()
for key in range(20, 220):
    weight = torch.empty(20_000)
    dm.gather(key, weight)
    with dm.release(key):
        weight.untyped_storage().resize_(0)
    torch.ones(2)
dm.step(0)
leave.set()
thread.join()
"""
GOES_ON_ANOTHER_THREAD = """
import threading, torch, dc_memtrace as dm
kept = []
def gather():
    weight = torch.empty(30_000)
    dm.gather(1, weight)
    dm.release(1)
    torch.ones(2)
    kept.append(weight)
gather()
def work():
    torch.ones(3)
    kept.clear()
    torch.ones(3)
thread = threading.Thread(target=work)
thread.start()
thread.join()
torch.ones(2)
dm.step(0)
"""
PARTS_OF_ONE = """
import torch, dc_memtrace as dm
flat = torch.empty(40_000)
first, second = flat[:20_000], flat[20_000:]
dm.gather(0, first)
dm.gather(1, second)
dm.release(0)
del first
torch.ones(2)
dm.release(1)
torch.ones(2)
dm.step(0)
"""
READ_WHERE_ALL_ARE_RELEASED = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    first, second = flat[:20_000], flat[20_000:]
    for key, part in enumerate((first, second)):
        dm.gather(key, part)
    for key in (0, 1):
        dm.release(key)
        torch.ones(2)
    first.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
READ_WHERE_ANOTHER_IS_GATHERED = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    first, second = flat[:20_000], flat[20_000:]
    for key, part in enumerate((first, second)):
        dm.gather(key, part)
    with dm.release(0):
        first.data = torch.empty(0)
    torch.ones(2)
    first.mul_(2)
    dm.release(1)
    torch.ones(2)
    for part in (first, second):
        part.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
READ_WHERE_THE_STORAGE_HAS_ENDED = """
import torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(0, weight)
    with dm.release(0):
        weight.data = torch.empty(0)
    torch.ones(2)
    weight.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
MANY_IN_A_ROW = """
import torch, dc_memtrace as dm
weights = [torch.empty(20_000) for _ in range(1030)]
for key, weight in enumerate(weights):
    dm.gather(key, weight)
for key in range(1030):
    dm.release(key)
torch.ones(2)
"""

ACROSS_STEPS = {
    "allocated in one step, gathered in the next": """
import torch, dc_memtrace as dm
weight = torch.empty(20_000)
for step in range(3):
    dm.gather(1, weight)
    torch.ones(2)
    with dm.release(1):
        weight.untyped_storage().resize_(0)
    torch.ones(2)
    weight = torch.empty(20_000)
    dm.step(step)
""",
    "gathered in one step, released in the next": """
import torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    for step in range(3):
        torch.ones(2)
        dm.release(1)
        torch.ones(2)
        weight = torch.empty(20_000)
        dm.gather(1, weight)
        dm.step(step)
main()
""",
    "counted and read beyond a step": """
import torch, dc_memtrace as dm
def main():
    weight, late = torch.empty(20_000), torch.empty(30_000)
    dm.gather(1, weight)
    dm.gather(2, late)
    torch.ones(2)
    dm.release(1)
    dm.release(2, 2)
    torch.ones(2)
    dm.step(0)
    weight.mul_(2)
    del weight
    dm.release(2, 2)
    torch.ones(2)
    dm.step(1)
    late.mul_(2)
    dm.step(2)
main()
""",
    "released after the last step": """
import torch, dc_memtrace as dm
def main():
    for step in range(3):
        weight, late = torch.empty(20_000), torch.empty(30_000)
        dm.gather(1, weight)
        dm.gather(2, late)
        torch.ones(2)
        dm.step(step)
    dm.release(1)
    dm.release(2, 2)
    torch.ones(2)
    weight.mul_(2)
    more = torch.empty(30_000)
    dm.gather(3, more)
    torch.ones(2)
main()
""",
}

SHARED_AND_NOT_YET_RELEASED = """
import torch, dc_memtrace as dm
def main():
    own = torch.empty(20_000)
    dm.gather(1, own, 5)
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    dm.wait(1, weight, 5)
    del own
    with dm.release(1):
        del weight
    torch.ones(2)
    late = torch.empty(30_000)
    dm.gather(2, late)
    with dm.release(2):
        pass
    torch.ones(2)
    with dm.release(1, 1, 5):
        pass
    torch.ones(2)
main()
"""

PARTS_GONE_BEFORE_THEIR_RELEASES = """
import torch, dc_memtrace as dm
def main():
    flat = torch.empty(40_000)
    first, second = flat[:20_000], flat[20_000:]
    dm.gather(1, first)
    dm.gather(2, second)
    late = torch.empty(30_000)
    dm.gather(3, late)
    torch.ones(2)
    del flat, first, second
    large = torch.empty(500_000)
    del large
    for key in (1, 2, 3):
        with dm.release(key):
            pass
    torch.ones(2)
main()
"""

# The program, and its number of findings.
PROGRAMS = {
    "read by the backward": ((recorded.PROGRAMS / "use_after_release.py",), 1),
    "a skipped frame, nobody releases": ((SKIPPED,), 1),
    "a skipped frame, released early": ((SKIPPED, "--early"), 1),
    "reloaded inputs": ((OFFLOAD, "--steps", 1), 0),
    "weights held to the end, compiled": ((RELEASE, "--steps", 2), 1),
    "viewed by the backward": ((recorded.PROGRAMS / "use_after_release.py", "--linear"), 1),
    "read, the data is there": ((recorded.PROGRAMS / "use_after_release.py", "--keep-data"), 1),
    "out of memory": ((recorded.PROGRAMS / "out_of_memory.py", "cpu", "--catch"), 2),
    "prefetch and offload": ((*TRAIN, *TENSOR_ONLY, "--prefetch", 1, "--offload"), 1),
    "a cast cache": ((*TRAIN, "--bf16", "--switch", "cast_cache_keeps_gathered"), 1),
    "eager, released early": ((*TRAIN, *TENSOR_ONLY, "--skipped", 1, "--switch", "early_release_before_backward"), 3),
    "eager, nobody releases": ((*TRAIN, "--skipped", 1, "--switch", "eager_gather_without_owner"), 1),
    "graphs": ((*TRAIN, *TENSOR_ONLY, "--compiled", "--switch", "wrapper_keeps_aliases"), 1),
    "persistent": ((*TRAIN, *TENSOR_ONLY, "--persistent-below", 10**6), 0),
    "keys that take turns": (("-c", FLAT_BUFFER), 0),
    "a pool": ((HEALTHY, "pool_of_8"), 0),
    "a leak from a pool": ((HEALTHY, "--plant", "pool_of_2"), 1),
    "a leak from a ring": ((HEALTHY, "--plant", "ring"), 1),
    "goes in the last operator": (("-c", GOES_IN_THE_LAST_OPERATOR), 0),
    "held when the program is cut off": (("-c", CUT_OFF), 1),
    "held by a thread beyond its last event": (("-c", HELD_BY_A_THREAD), 1),
    "parts of a storage that outlives the step": (("-c", PARTS_OF_ONE), 1),
    "goes on another thread": (("-c", GOES_ON_ANOTHER_THREAD), 1),
    "parts go before their releases": (("-c", PARTS_GONE_BEFORE_THEIR_RELEASES), 1),
    "a wait gives another key's storage": (("-c", SHARED_AND_NOT_YET_RELEASED), 1),
    "a part is read when all are released": (("-c", READ_WHERE_ALL_ARE_RELEASED), 1),
    "a part is read while another is gathered": (("-c", READ_WHERE_ANOTHER_IS_GATHERED), 1),
    "read when its storage has ended": (("-c", READ_WHERE_THE_STORAGE_HAS_ENDED), 1),
}


def environment() -> dict[str, str]:
    env = recorded.environment(DCMT_BUILD_DIR=str(recorded.BUILD), OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join([str(recorded.ROOT / "executor" / "python"), env["PYTHONPATH"]])
    return env


def record(folder, program):
    """The only trace of a program. The program may fail."""
    flags = recorded.SAMPLE_OPERATORS
    recorded.tool("run", "-o", folder, *flags, "--", recorded.sys.executable, *program, env=environment())
    (trace,) = recorded.traces(folder)
    return trace


def reproduce(trace, *options, code: int = 0) -> list[dict]:
    done = recorded.tool("reproduce", "--json", trace, *options)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""
    (shown,) = json.loads(done.stdout)["traces"]
    return shown["replays"]


def final_releases(trace, step: int) -> list[tuple[int, int]]:
    """Bytes before each final release of a step, and at the next operator."""
    return recorded.query(
        trace,
        "SELECT bytes, bytes_settled FROM mark WHERE kind = 'release' AND flags LIKE '%final%'"
        " AND from_seq BETWEEN (SELECT from_seq FROM mark WHERE kind = 'step' AND value = ?)"
        " AND (SELECT to_seq FROM mark WHERE kind = 'step' AND value = ?) ORDER BY from_seq",
        step,
        step,
    )


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


def test_the_program_that_is_written_needs_torch_alone_and_shows_the_bytes(runs, tmp_path):
    defect, _ = runs
    story = tmp_path / "story.py"
    assert recorded.tool("reproduce", defect, "--finding", 1, "--emit", story).returncode == 0
    text = story.read_text()
    assert len(text.splitlines()) <= 100 and max(map(len, text.splitlines())) <= 120
    imports = {name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    assert imports == {"sys", "torch"}
    env = {"PATH": os.environ["PATH"]}
    kept = sum(left for _, left in final_releases(defect, 1))
    assert kept == 12 * GATHERED
    assert f"\n{kept:,} bytes were still alive" in recorded.python(story, env=env).stdout
    assert "\n0 bytes were still alive" in recorded.python(story, "--fixed", env=env).stdout


SEVERAL_HUNDRED_EVENTS = """
import torch, dc_memtrace as dm
def main(count):
    kept = []
    for key in range(count):
        weight = torch.empty(20_000 + key % 3 * 1000)
        dm.gather(key, weight)
        dm.release(key, 2)
        torch.ones(2)
        with dm.release(key, 2):
            if key % 2:
                weight.untyped_storage().resize_(0)
        torch.ones(2)
        if key % 10 == 0:
            weight.mul_(2)
        kept.append(weight)
    torch.ones(2)
main({count})
torch.ones(2)
dm.step(0)
"""


@recorded.for_soak
@pytest.mark.parametrize("count, whole", recorded.some([(120, True), (1200, False)], 2))
def test_a_story_of_hundreds_of_events_has_a_hundred_lines(tmp_path, count, whole):
    trace = record(tmp_path / "out", ("-c", SEVERAL_HUNDRED_EVENTS.replace("{count}", str(count))))
    done = recorded.tool("reproduce", trace, "--emit", "-")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 100 and max(map(len, done.stdout.splitlines())) <= 120
    (tmp_path / "story.py").write_text(done.stdout)
    ran = recorded.python(tmp_path / "story.py", env={"PATH": os.environ["PATH"]})
    assert ran.returncode == 0, ran.stderr
    included, all = map(int, re.search(r"(\d+) of (\d+) gathered storages", done.stdout).groups())
    assert all == count and (included == count if whole else 100 < included < count)

    # For each storage in the story, its bytes before and after the final release are the recorded ones.
    recorded_bytes = dict(
        (f"g0.id{key}.1", (after, before))
        for key, before, after in recorded.query(
            trace, "SELECT key, bytes, bytes_settled FROM mark WHERE kind = 'release' AND flags LIKE '%final%'"
        )
    )
    lines = re.findall(r"^(\S+): ([\d,]+) of ([\d,]+) B alive after the release$", ran.stdout, re.MULTILINE)
    shown = {name: tuple(int(number.replace(",", "")) for number in numbers) for name, *numbers in lines}
    assert len(lines) == len(shown) == included
    assert shown == {name: recorded_bytes[name] for name in shown}
    assert f"\n{sum(after for after, _ in shown.values()):,} bytes were still alive" in ran.stdout
    assert "\n0 bytes were never released" in ran.stdout
    reads = recorded.query(trace, "SELECT key FROM mark WHERE kind = 'read'")
    assert re.findall(r"id(\d+)\.1: read 1x", ran.stdout) == [str(key) for (key,) in reads if f"g0.id{key}.1" in shown]
    fixed = recorded.python(tmp_path / "story.py", "--fixed", env={"PATH": os.environ["PATH"]})
    assert "\n0 bytes were still alive" in fixed.stdout


@recorded.for_soak
def test_the_story_of_a_trained_model_is_complete(tmp_path):
    trace = record(tmp_path / "out", (*TRAIN, *TENSOR_ONLY, "--switch", "wrapper_keeps_aliases"))
    done = recorded.tool("reproduce", trace, "--emit", "-")
    assert len(done.stdout.splitlines()) <= 100
    (tmp_path / "story.py").write_text(done.stdout)
    ran = recorded.python(tmp_path / "story.py")
    assert ran.returncode == 0, ran.stderr
    included, all = re.search(r"(\d+) of (\d+) gathered storages", done.stdout).groups()
    assert int(included) == int(all) == 144


EMPTIED = """
import torch, dc_memtrace as dm
def main():
    emptied, flat = torch.empty(20_000), torch.empty(40_000)
    part, other = flat[:20_000], flat[20_000:]
    for key, weight in enumerate((emptied, part, other)):
        dm.gather(key, weight)
    emptied.untyped_storage().resize_(0)
    torch.ones(2)
    dm.release(0)
    dm.release(1)
    del part
    torch.ones(2)
    dm.release(2)
    torch.ones(2)
    other.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
MANY_USES = """
import torch, dc_memtrace as dm
def main():
    weights = torch.empty(20_000), torch.empty(20_000)
    for key, weight in enumerate(weights):
        dm.gather(key, weight)
    for key, weight in enumerate(weights):
        for _ in range(100):
            dm.release(key, 100)
    torch.ones(2)
main()
torch.ones(2)
dm.step(0)
"""


ONE_LONG_STORY = """
import torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    for use in range(1, 2001):
        dm.release(1, 2000 if use == 1 else use)
        torch.ones(2)
    for _ in range(50):
        weight.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""


@recorded.for_soak
def test_a_story_of_thousands_of_events_of_one_storage(tmp_path):
    trace = record(tmp_path / "out", ("-c", ONE_LONG_STORY))
    done = recorded.tool("reproduce", trace, "--emit", tmp_path / "story.py")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "story.py").read_text().splitlines()) <= 100
    ran = recorded.python(tmp_path / "story.py")
    assert ran.stdout.splitlines() == [
        "g0.id1.1: 80,000 of 80,000 B alive after the release",
        "g0.id1.1: read 50x after its release, 80,000 B there",
        "80,000 bytes were still alive after their release,",
        "0 bytes were never released",
    ]


@pytest.mark.parametrize("program, included, all", recorded.some([(EMPTIED, 3, 3), (MANY_USES, 2, 2)], 2))
def test_a_story_of_what_is_emptied_shared_or_long_runs(tmp_path, program, included, all):
    trace = record(tmp_path / "out", ("-c", program))
    done = recorded.tool("reproduce", trace, "--emit", tmp_path / "story.py")
    assert done.returncode == 0, done.stderr
    story = (tmp_path / "story.py").read_text()
    assert f"{included} of {all} gathered storages" in story
    assert len(story.splitlines()) <= 100
    ran = recorded.python(tmp_path / "story.py")
    assert ran.returncode == 0, ran.stderr
    if program is EMPTIED:
        assert "g0.id0.1: 0 of 80,000 B alive after the release" in ran.stdout
        assert "g0.id2.1: 160,000 of 160,000 B alive after the release" in ran.stdout


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
