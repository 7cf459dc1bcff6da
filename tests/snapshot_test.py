"""`dc-memtrace snapshot`: finds the holders of a running program from outside."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import struct
import subprocess
import sys
import time

import core_writer
import pytest
import recorded

PLANTED = recorded.PROGRAMS / "planted_holders.py"


@contextlib.contextmanager
def running(program: list, ready: pathlib.Path | None):
    process = subprocess.Popen([sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while ready is not None and not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, "the program never became ready"
            time.sleep(0.1)
        yield process
    finally:
        process.stdin.close()
        process.stdout.read()
        assert process.wait() == 0, "the program came to harm"


def evaluated(process: subprocess.Popen, shown: dict) -> tuple[int, list[str]]:
    """The number of paths that are expressions of Python, and those whose value in the program is not the tensor."""
    named = {}
    for storage in shown["storages"]:
        for holder in storage["holders"]:
            with contextlib.suppress(SyntaxError):
                compile(holder["path"], "path", "eval")
                # "main.FUNCTION (lru_cache)" is not a call.
                is_tensor = " (" not in holder["path"]
                if holder["path"].startswith("main.") and is_tensor and holder["confirmed"]:
                    named[holder["path"]] = storage["data"]
    process.stdin.write(json.dumps(named) + "\n")
    process.stdin.flush()
    return len(named), json.loads(process.stdout.readline())


# Deleted as the twin of the program would never have had it. What a library keeps, a thread, or a cycle is not deleted.
ROOT = re.compile(r"main\.(\w+)")
# A context keeps the value besides the variable, a process group its reducers, and the tensor of the hook hangs on graphs.
NOT_DELETED = {"context variable", "a reducer's bucket", "tensor hook"}
# TorchScript gives Python copies of its lists.
ROOT_DELETED = {"IValue list", "IValue dict"}


def holders_of(shown: dict) -> dict[int, list[str]]:
    return {storage["data"]: [holder["path"] for holder in storage["holders"] if holder["confirmed"]]
            for storage in shown["storages"]}  # fmt: skip


def gone_without(process: subprocess.Popen, expected: dict, shown: dict) -> dict[str, tuple[str, list[str]]]:
    """By kind: the deleted path or root variable, and the kinds that were freed with it."""
    gone = {}
    holders = holders_of(shown)
    for kind, (data, _, path) in expected.items():
        root = ROOT.match(path)
        if root is None or kind in NOT_DELETED:
            continue
        # The whole path if Python can delete it, else its variable.
        for what in [holders[data][0]] * (kind not in ROOT_DELETED) + [root[0]]:
            process.stdin.write("del " + what.removeprefix("main.") + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            if answer is not None:
                gone[kind] = (what, answer)
                break
    return gone


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    file = tmp_path_factory.mktemp("planted") / "expected.json"
    with running([PLANTED, file], file) as process:
        as_json = recorded.tool("snapshot", process.pid, "--smallest", 20000, "--json")
        as_text = recorded.tool("snapshot", process.pid, "--smallest", 20000, "--all")
        assert as_json.returncode == 0, as_json.stderr
        expected, shown = json.loads(file.read_text()), json.loads(as_json.stdout)
        wrong = evaluated(process, shown)
        gone = gone_without(process, expected, shown) if recorded.ALL else {}  # for the test that is for scripts/soak
    assert as_text.returncode == 0, as_text.stderr
    return expected, shown, as_text.stdout, wrong, gone


def hang_on(what: str, holders: list[str]) -> bool:
    """True if the holders depend on `what`. Cycles that Python's collector can free end when it runs, as it does in the child, also
    where the program has switched it off: torch.jit.script leaves one with a copy of the module's variables."""
    lasting = [path for path in holders if not re.search(r"\(Python's collector (can free it|is off)\)", path)]
    return bool(lasting) and all(re.match(re.escape(what) + r"(?!\w)", path) for path in lasting)


@recorded.for_soak
def test_without_its_holder_each_is_gone(planted):
    expected, shown, *_, gone = planted
    assert sum(kind in answer for kind, (_, answer) in gone.items()) >= 55
    holders, wrong = holders_of(shown), {}
    for kind, (what, answer) in gone.items():
        hangs_on_it = {other for other, (data, *_) in expected.items() if hang_on(what, holders[data])}
        if set(answer) - {"cycle"} != hangs_on_it:
            wrong[kind] = (what, answer, hangs_on_it, holders[expected[kind][0]])
    assert wrong == {}


def test_every_kind_of_holder_is_named(planted):
    expected, shown, *_ = planted
    by_data = {storage["data"]: storage for storage in shown["storages"]}
    assert len(expected) >= 60
    wrong = {}
    for kind, (data, _, path) in expected.items():
        holders = by_data[data]["holders"]
        if not any(holder["confirmed"] and holder["path"].startswith(path) for holder in holders):
            wrong[kind] = (path, holders)
    assert wrong == {}


def test_the_paths_lead_to_the_tensors(planted):
    named, wrong = planted[3]
    assert named >= 30 and wrong == []


def test_bytes_are_those_of_the_tensors(planted):
    expected, shown, *_ = planted
    by_data = {storage["data"]: storage["bytes"] for storage in shown["storages"]}
    assert {kind: by_data[data] for kind, (data, _, _) in expected.items()} == {
        kind: size for kind, (_, size, _) in expected.items()
    }


def test_storages_have_their_role(planted):
    expected, shown, *_ = planted
    roles = {storage["data"]: storage["role"] for storage in shown["storages"]}
    of_kinds = {
        "parameter": "parameter", "gradient": "gradient", "optimizer state": "optimizer state", "buffer": "buffer",
        "optimizer state of a plain tensor": "optimizer state", "optimizer state in a list": "optimizer state", "buffer with a gradient in it": None,
        "dataset with a saved batch": None, "inside a parameter": "parameter", "inside a gradient": "gradient",
        "inside what an optimizer updates": "parameter", "inside an optimizer's state": "optimizer state",
        "saved by a node": "saved for backward", "saved by a context": "saved for backward", "list": None, "dict": None,
    }  # fmt: skip
    assert {kind: roles[expected[kind][0]] for kind in of_kinds} == of_kinds


def test_weak_references_hold_nothing(planted):
    paths = {holder["path"] for storage in planted[1]["storages"] for holder in storage["holders"]}
    assert not any("WEAK." in path or "WEAK_VALUES" in path or path == "main.WEAK" for path in paths)


def test_text_groups_by_holder(planted):
    _, shown, text, *_ = planted
    assert text.startswith(f"{len(shown['storages'])} storages of 19.5 KiB or more, ")
    assert "main.DICT['b']" in text and "main.LIST[*]" in text
    assert f"CPython {sys.version_info.major}.{sys.version_info.minor}" in text


def test_a_process_that_keeps_the_gil_and_its_core_file(tmp_path):
    """No code of the program runs for the reading. The core file has the same contents later."""
    program = ["-c", "import ctypes, torch\n"
               "def main():\n  kept = [torch.ones(50_000)]\n  libc = ctypes.PyDLL(None)\n"
               "  print(1, flush=True); libc.pause()\n"
               "main()"]  # fmt: skip
    process = subprocess.Popen([sys.executable, *program], stdout=subprocess.PIPE)
    with process:
        try:
            process.stdout.readline()
            live = recorded.tool("snapshot", process.pid, "--json")
            core_writer.write_core(process.pid, tmp_path / "core")
        finally:
            process.kill()
    dead = recorded.tool("snapshot", "--core", tmp_path / "core", "--json")
    text = recorded.tool("snapshot", "--core", tmp_path / "core").stdout
    (tmp_path / "core").unlink()  # it is large
    assert (live.returncode, dead.returncode) == (0, 0), live.stderr + dead.stderr
    live, dead = json.loads(live.stdout), json.loads(dead.stdout)
    (storage,) = live["storages"]
    assert [holder["path"] for holder in storage["holders"]] == ["main (<string>:5): kept[0]"]
    assert dead["storages"] == live["storages"] and dead["core"] == str(tmp_path / "core")
    assert "main (<string>:5): kept[*]" in text and "went on" not in text


def test_what_a_statement_uses_is_named_by_what_keeps_it(tmp_path):
    """The list is on the stack of a frame, too, while its method is called."""
    ready = tmp_path / "ready"
    program = ("import pathlib, sys, torch\nDRAWER = {'a': {'b': [torch.ones(50_000)]}}\n"
               f"def wait():\n  pathlib.Path({str(ready)!r}).touch(); sys.stdin.read()\n"
               "def main():\n  DRAWER['a']['b'].append(wait())\nmain()")  # fmt: skip
    with running(["-c", program], ready) as process:
        shown = recorded.tool("snapshot", process.pid, "--json")
    (storage,) = json.loads(shown.stdout)["storages"]
    assert storage["holders"][0]["path"] == "main.DRAWER['a']['b'][0]"


NATIVE = recorded.BUILD / "lib" / "tests" / "libdcmt_native_holders.so"
HELD_BY = {
    "variable": "planted::g_tensor", "vector": "planted::g_vector", "map": "planted::g_map[abi:cxx11]",
    "session": "planted::g_session → Session → Plain", "list": "planted::g_list → ListImpl", "storage": "planted::g_storage",
    "hidden": "planted::(anonymous namespace)::hidden()::kept", "buckets": "planted::g_buckets → Buckets → Plain",
}  # fmt: skip


def test_cpp_holders(tmp_path):
    """Static and thread-local variables, with their names if the library's symbols contain them."""
    file = tmp_path / "data.json"
    with running([recorded.PROGRAMS / "native_holders.py", NATIVE, file], file) as process:
        shown = recorded.tool("snapshot", process.pid, "--json")
        core_writer.write_core(process.pid, tmp_path / "core")
    dead = recorded.tool("snapshot", "--core", tmp_path / "core", "--json")
    (tmp_path / "core").unlink()
    for result in (shown, dead):
        assert result.returncode == 0, result.stderr
        found = {storage["data"]: storage["holders"] for storage in json.loads(result.stdout)["storages"]}
        planted = json.loads(file.read_text())
        expected = {kind: f"{NATIVE.name}: {path}" for kind, path in HELD_BY.items()}
        expected["thread-local"] = f"thread {process.pid}: thread_local"
        for kind, path in expected.items():
            assert {"path": path, "confirmed": True} in found[planted[kind]], kind
        # Variables that dropped the tensor still have its address in their memory.
        assert found[planted["running"]] == []
        assert not any("g_tasks" in holder["path"] or "g_queue" in holder["path"] for holder in found[planted["buckets"]])


def test_what_is_no_core_file(tmp_path):
    core = tmp_path / "core"
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, 60_000, 0, 0, 0)
    for content in (b"", b"text", header, header + b"\xff" * 4000):
        core.write_bytes(content)
        assert str(core) in recorded.one_line(recorded.tool("snapshot", "--core", core), 3)
    assert str(tmp_path / "none") in recorded.one_line(recorded.tool("snapshot", "--core", tmp_path / "none"), 3)


def refusal(pid: int) -> str:
    done = recorded.tool("snapshot", pid)
    assert done.stdout == ""
    return recorded.one_line(done, 4)


def test_no_such_process():
    assert "does not exist" in refusal(2**22 - 1)


def test_a_process_without_python():
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            assert "no CPython" in refusal(process.pid)
        finally:
            process.kill()


def test_a_process_without_torch(tmp_path):
    ready = tmp_path / "ready"
    program = ["-c", f"import sys; open({str(ready)!r}, 'w'); sys.stdin.read()"]
    with running(program, ready) as process:
        assert "has not loaded torch" in refusal(process.pid)
