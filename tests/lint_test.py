"""dc-memtrace lint: what it says of generated code is what a recorded run of that code shows."""

from __future__ import annotations

import ast
import json

import pytest
import recorded


def lint(*arguments: object, code: int = 0) -> dict:
    done = recorded.tool("lint", "--json", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A compiled run of the sample, and the folder with what Inductor wrote for it."""
    folder = tmp_path_factory.mktemp("lint")
    env = recorded.environment(TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"))
    recorded.record(folder / "out", recorded.SAMPLE, "--steps", 1, env=env)
    return folder


def undeleted_by_python(path: str) -> set[str]:
    """Names of the function `call` that are assigned and never deleted or returned, by Python's own parser."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"]
    assigned, gone = set(), set()
    for node in ast.walk(call):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            gone.add(node.id)
        if isinstance(node, ast.Return):
            gone |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return assigned - gone


def test_the_names_are_those_that_held_weights_in_the_run(compiled):
    (file,) = [file for file in lint(compiled / "inductor")["files"] if file["storages"]]
    assert len(file["storages"]) == 12
    held = recorded.query(
        recorded.traces(compiled / "out")[0],
        "SELECT string.text FROM edge JOIN string ON string.id = edge.name WHERE edge.holder = 'local'",
    )
    names = [name["name"] for storage in file["storages"] for name in storage["names"]]
    assert sorted(names) == sorted(name for (name,) in held)
    # All that Python's parser finds, but the last layer's, after which nothing is called.
    assert set(names) < undeleted_by_python(file["path"])
    lines = open(file["path"], encoding="utf-8").read().splitlines()
    for storage in file["storages"]:
        assert storage["operator"] == "zero3_sample::allgather_param"
        assert storage["function"] == "Runner.call"
        assert "release_param" in lines[storage["release_line"] - 1]
        assert lines[storage["return_line"] - 1].strip().startswith("return")
        for name in storage["names"]:
            assert lines[name["line"] - 1].strip() == name["statement"] == f"{name['name']} = {name['aliases']}"
            assert name["name"] not in lines[name["missing_delete_after"]]  # the next line uses it no more
            assert f"del {name['name']}" not in map(str.strip, lines)


def test_a_trace_has_the_file_after_the_cache_is_gone(compiled):
    (file,) = lint(compiled / "out")["files"]
    assert file["trace"] == str(recorded.traces(compiled / "out")[0])
    (same,) = [one for one in lint(compiled / "inductor")["files"] if one["storages"]]
    assert file["storages"] == same["storages"]


def test_with_the_missing_deletes_put_in_nothing_is_found(compiled, tmp_path):
    (file,) = [file for file in lint(compiled / "inductor")["files"] if file["storages"]]
    lines = open(file["path"], encoding="utf-8").read().split("\n")
    for storage in file["storages"]:
        for name in storage["names"]:
            lines[name["missing_delete_after"] - 1] += f"; del {name['name']}"
    mended = tmp_path / "output_code.py"
    mended.write_text("\n".join(lines))
    ast.parse(mended.read_text())
    assert lint(tmp_path)["files"] == [{"path": str(mended), "trace": None, "storages": []}]


def test_codes_and_texts(compiled, tmp_path):
    assert recorded.tool("lint", "--fail-on-findings", compiled / "inductor").returncode == 1
    shown = recorded.tool("lint", compiled / "inductor")
    assert shown.returncode == 0
    assert "24 names are never deleted, though what they name is dead: 12 storages in" in shown.stdout
    assert "no `del buf1` after line" in shown.stdout
    (tmp_path / "mine.py").write_text("def call(args):\n    return args\n")
    assert recorded.tool("lint", tmp_path).stdout == "No finding in 0 generated files.\n"
    missing = recorded.tool("lint", tmp_path / "none.py")
    assert missing.returncode == 3 and missing.stderr.count("\n") == 1


def test_without_the_table_nobody_knows_that_a_wait_returns_its_argument(tmp_path):
    code = tmp_path / "output_code.py"
    code.write_text(
        "async_compile = AsyncCompile()\n"
        "def call(args):\n"
        "    arg0_1, arg1_1 = args\n"
        "    args.clear()\n"
        "    buf0 = torch.ops.mylib.fetch.default(arg0_1, 0, 7)\n"
        "    del arg0_1\n"
        "    buf1 = torch.ops.mylib.fetched.default(buf0, 0, 7)\n"
        "    del buf0\n"
        "    cpp_fused_mm_0(buf1, arg1_1)\n"
        "    cpp_fused_mm_1(arg1_1)\n"
        "    return (arg1_1, )\n"
    )
    assert lint(code)["files"][0]["storages"] == []
    table = tmp_path / "operators.toml"
    table.write_text('[[operator]]\npattern = "mylib::fetched"\nrole = "wait"\nkey = "id"\n')
    (storage,) = lint(code, "--operators", table)["files"][0]["storages"]
    assert storage["deleted_names"] == ["buf0"]
    assert storage["names"] == [
        {
            "name": "buf1",
            "line": 7,
            "statement": "buf1 = torch.ops.mylib.fetched.default(buf0, 0, 7)",
            "aliases": "buf0",
            "missing_delete_after": 9,
        }
    ]
