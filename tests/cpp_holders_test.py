"""A recorded run names what C++ objects keep when no Python object leads to it."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import recorded

LIBRARY = recorded.BUILD / "lib" / "tests" / "libdcmt_native_holders.so"
NAMES = ["g_tensor", "g_vector", "g_map[abi:cxx11]", "g_session", "g_list", "g_storage", "(anonymous namespace)::hidden()::kept"]
KEEPING = recorded.BUILD / "bin" / "libtorch_keeping"
OUTPUT = 64 * 1024 * 4  # of each of its steps
# The reading at a program's end takes as long as it needs: how busy the machine is decides nothing.
PATIENT = ("--exit-wait", "60")
BUCKETS = 50_009 * 4  # and one of 50,010 that only a running function has


@pytest.mark.parametrize("step", [0, 3])
def test_static_variables_of_a_library_are_the_holders(step, tmp_path):
    recorded.record(tmp_path / "out", recorded.PROGRAMS / "cpp_buckets.py", LIBRARY, step, flags=PATIENT)
    (trace,) = recorded.traces(tmp_path / "out")
    (live,) = json.loads(recorded.tool("show", "live", "--json", "--at", "peak", trace).stdout)["traces"]
    held = {group["name"]: group["bytes"] for group in live["by_holder"]}
    # native_holders.cpp: one of 50,001 floats, one of 50,002 and so on.
    for number, name in enumerate(NAMES, 1):
        assert held.pop(f"{LIBRARY.name}: planted::{name}") == (50_000 + number) * 4, name
    assert held.pop(f"{LIBRARY.name}: planted::g_buckets") == BUCKETS
    assert not any("g_tasks" in name or "g_queue" in name for name in held), "they have let go of it"
    (thread,) = [name for name in held if name.endswith(": thread_local")]
    assert held[thread] == 50_008 * 4
    (report,) = recorded.report(trace)
    assert report["findings"] == []
    assert {remark["holder"] for remark in report["remarks"] if remark["kind"] == "kept"} <= {
        f"{LIBRARY.name}: planted::{name}" for name in [*NAMES, "g_buckets"]
    } | {thread}


def test_what_a_program_gives_to_a_library_is_held_there(tmp_path):
    # Its Python object counts as a reference, too, though only the tensor keeps it.
    program = recorded.PROGRAMS / "cpp_given.py"
    recorded.record(tmp_path / "out", program, LIBRARY)
    (report,) = recorded.report(tmp_path / "out")
    (finding,) = report["findings"]
    growth = finding["growth"]
    assert growth["holder"] == f"{LIBRARY.name}: planted::g_given"
    assert growth["storages"] == 59, "what the last step made may still be dropped"
    (line,) = [number for number, text in enumerate(program.read_text().splitlines(), 1) if text.endswith("# given")]
    assert [site["site"].split(" ")[0].split("/")[-1] for site in growth["sites"]] == [f"{program.name}:{line}"]


@pytest.mark.parametrize(("where", "name"), [("list", f"{KEEPING.name}: kept::list"), ("map", f"{KEEPING.name}: kept::map"),
                                             ("member", f"{KEEPING.name}: kept::trainer"), ("thread", "thread N: thread_local"), ("nothing", None)])
def test_a_static_variable_of_a_program_without_python_is_a_holder(where, name):
    program = subprocess.Popen([KEEPING, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "ready\n"
        shown = recorded.tool("snapshot", program.pid, "--smallest", OUTPUT, "--json")
    finally:
        program.communicate()
    assert program.returncode == 0 and shown.returncode == 0, shown.stderr
    storages = json.loads(shown.stdout)["storages"]
    held = [each for each in storages if each["holders"]]
    assert {each["bytes"] for each in held} == ({OUTPUT} if name else set())
    assert len(held) == (20 if name else 0), "steps"
    for each in held:
        assert [re.sub(r"thread \d+", "thread N", holder["path"].split(" → ")[0]) for holder in each["holders"]] == [name]


def test_buckets_of_ddp_belong_to_its_reducer(tmp_path):
    recorded.record(tmp_path / "run", recorded.PROGRAMS / "ddp_buckets.py", flags=PATIENT)
    (trace,) = recorded.traces(tmp_path / "run")
    # Larger than any parameter. The first bucket, and the copy of all parameters, go in the first steps.
    holders = recorded.query(
        trace,
        "SELECT t.bytes, s.text FROM storage t LEFT JOIN owner o ON o.storage = t.id LEFT JOIN string s ON s.id = o.path"
        " WHERE t.bytes > 512 * 512 * 4",
    )
    layer = 4 * (512 * 512 + 512)
    assert {size for size, _ in holders} == {layer, 3 * layer, 4 * layer}
    assert {(size, path) for size, path in holders if size < 4 * layer} == {
        (size, "main.model.reducer → Reducer") for size in (layer, 3 * layer)
    }
    containers = "SELECT count(*) FROM held_in h JOIN storage t ON t.id = h.storage WHERE t.bytes > 512 * 512 * 4"
    assert recorded.query(trace, containers) == [(0,)]
