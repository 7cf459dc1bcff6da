"""`dc-memtrace snapshot`: the holders of a running program, named from outside."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time

import pytest
import recorded

PLANTED = recorded.PROGRAMS / "planted_holders.py"


@contextlib.contextmanager
def running(program: list, ready: pathlib.Path | None):
    process = subprocess.Popen([sys.executable, *program], stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 120
        while ready is not None and not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, "the program never became ready"
            time.sleep(0.1)
        yield process
    finally:
        process.stdin.close()
        assert process.wait() == 0, "the program came to harm"


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    file = tmp_path_factory.mktemp("planted") / "expected.json"
    with running([PLANTED, file], file) as process:
        as_json = recorded.tool("snapshot", process.pid, "--smallest", 20000, "--json")
        as_text = recorded.tool("snapshot", process.pid, "--smallest", 20000, "--all")
    assert as_json.returncode == 0, as_json.stderr
    assert as_text.returncode == 0, as_text.stderr
    return json.loads(file.read_text()), json.loads(as_json.stdout), as_text.stdout


def test_every_kind_of_holder_is_named(planted):
    expected, shown, _ = planted
    by_data = {storage["data"]: storage for storage in shown["storages"]}
    assert len(expected) >= 45
    wrong = {}
    for kind, (data, path) in expected.items():
        holders = [holder["path"] for holder in by_data[data]["holders"] if holder["confirmed"]]
        if not any(holder.startswith(path) for holder in holders):
            wrong[kind] = (path, holders)
    assert wrong == {}


def test_bytes_are_those_of_the_tensors(planted):
    expected, shown, _ = planted
    by_data = {storage["data"]: storage["bytes"] for storage in shown["storages"]}
    square = {"saved by a node": 300, "parameter": 203, "gradient": 203}
    sizes = {kind: by_data[data] for kind, (data, _) in expected.items()}
    for kind, side in square.items():
        assert sizes.pop(kind) == side * side * 4
    assert len(set(sizes.values())) == len(sizes) and all(160_000 <= size < 160_400 for size in sizes.values())


def test_parameters_and_gradients_have_their_role(planted):
    expected, shown, _ = planted
    roles = {storage["data"]: storage["role"] for storage in shown["storages"]}
    assert {kind: roles[expected[kind][0]] for kind in ("parameter", "gradient", "list")} == {
        "parameter": "parameter", "gradient": "gradient", "list": None
    }  # fmt: skip


def test_text_groups_by_holder(planted):
    _, shown, text = planted
    assert text.startswith(f"{len(shown['storages'])} storages of 19.5 KiB or more, ")
    assert "main.DICT['b']" in text and "main.LIST[*]" in text
    assert f"CPython {sys.version_info.major}.{sys.version_info.minor}" in text


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
