"""dc-memtrace lint: what it says of generated code is what a recorded run of that code shows."""

from __future__ import annotations

import ast
import json
import re

import pytest
import recorded


def lint(*arguments: object, code: int = 0) -> dict:
    done = recorded.tool("lint", "--json", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A compiled run of the sample, and the folder with Inductor's files for it."""
    folder = tmp_path_factory.mktemp("lint")
    env = recorded.environment(TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"))
    recorded.record(folder / "out", recorded.SAMPLE, "--steps", 1, env=env)
    return folder


def undeleted_by_python(path: str) -> set[str]:
    """Names in the function `call` that are assigned and never deleted or returned, found by Python's own parser."""
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
    # All names that Python's parser finds, except those of the last layer, which no call follows.
    assert set(names) < undeleted_by_python(file["path"])
    lines = open(file["path"], encoding="utf-8").read().splitlines()
    for storage in file["storages"]:
        assert storage["operator"] == "dcmt_z3::allgather_param"
        assert storage["function"] == "Runner.call"
        assert "release_param" in lines[storage["release_line"] - 1]
        assert lines[storage["return_line"] - 1].strip().startswith("return")
        for name in storage["names"]:
            # Inductor makes two names for a result up to torch 2.13, and one from 2.14 on.
            assert lines[name["line"] - 1].strip() == name["statement"]
            assert re.fullmatch(rf"{name['name']} = ({name['aliases']}|torch\.ops\.dcmt_z3\..*)", name["statement"])
            assert name["name"] not in lines[name["missing_delete_after"]]  # the next line does not use it any more
            assert f"del {name['name']}" not in map(str.strip, lines)


def test_a_trace_has_the_file_after_the_cache_is_gone(compiled):
    (same,) = [one for one in lint(compiled / "inductor")["files"] if one["storages"]]
    (compiled / "inductor").rename(compiled / "gone")
    try:
        (file,) = lint(compiled / "out")["files"]
    finally:
        (compiled / "gone").rename(compiled / "inductor")
    assert file["trace"] == str(recorded.traces(compiled / "out")[0])
    assert file["path"] == same["path"]
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
    assert lint(tmp_path)["operators"] == []
    assert lint(tmp_path)["files"] == [{"path": str(mended), "trace": None, "error": None, "storages": []}]


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
    (tmp_path / "broken.py").write_text("async_compile = 1\ndef call(args):\n    args.clear()\n    buf0 = = 1\n")
    assert "broken.py cannot be parsed by this Python: line 4: " in recorded.tool("lint", tmp_path).stdout
    no_python = recorded.tool("lint", "--python", tmp_path / "python", tmp_path)
    assert no_python.returncode == 4 and "--python" in no_python.stderr and no_python.stderr.count("\n") == 1


def test_without_the_table_it_is_unknown_that_a_wait_returns_its_argument(tmp_path):
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


ALIASING = """
import torch
torch.set_num_threads(1)
lib = torch.library.Library("my", "DEF")
lib.define("hides(Tensor t, int n) -> Tensor")
lib.define("claims(Tensor(a) t) -> Tensor(a)")
lib.define("agrees(Tensor(a) t) -> Tensor(a)")
lib.define("sometimes(Tensor t, Tensor other, bool alias) -> (Tensor, Tensor)")
lib.define("fresh(Tensor t) -> Tensor")
lib.impl("hides", lambda t, n: t.view(-1), "CPU")
lib.impl("claims", lambda t: t.clone(), "CPU")
lib.impl("agrees", lambda t: t.view(-1), "CPU")
lib.impl("sometimes", lambda t, other, alias: (t + other, other.detach() if alias else other.clone()), "CPU")
lib.impl("fresh", lambda t: t * 2, "CPU")
x, y = torch.ones(100), torch.ones(100)
for again in range(100):
    torch.ops.my.hides(x, 1)
    torch.ops.my.claims(x)
    torch.ops.my.agrees(x)
    torch.ops.my.sometimes(x, y, again == 50)
    torch.ops.my.fresh(x)
"""


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_what_operators_share_beside_what_their_schemas_say(tmp_path, detail):
    """For operators of the table; with `full` for all operators that are not torch's own."""
    options = ["--detail", detail]
    if detail == "lifetimes":
        (tmp_path / "table.toml").write_text('[[operator]]\npattern = "my::*"\nrole = "observe"\n')
        options += ["--operators", tmp_path / "table.toml"]
    done = recorded.tool("run", "-o", tmp_path / "out", *options, "--", recorded.sys.executable, "-c", ALIASING)
    assert done.returncode == 0, done.stderr
    operators = {one["name"]: one for one in lint(tmp_path / "out")["operators"]}
    facts = {
        name: [(fact["output"], fact["argument_name"], fact["declared"], fact["observed"]) for fact in one["aliases"]]
        for name, one in operators.items()
    }
    assert facts == {
        "my::hides": [(0, "t", False, True)],
        "my::claims": [(0, "t", True, False)],
        "my::agrees": [(0, "t", True, True)],
        "my::sometimes": [(1, "other", False, True)],
        "my::fresh": [],
    }
    consequences = {name: [fact["consequence"] for fact in one["aliases"]] for name, one in operators.items()}
    assert consequences["my::hides"] == consequences["my::sometimes"] == ["early"]
    assert (consequences["my::claims"], consequences["my::agrees"]) == (["late"], ["none"])
    assert operators["my::hides"]["schema"] == "my::hides(Tensor t, int n) -> Tensor"
    (trace,) = recorded.traces(tmp_path / "out")
    # The first call, and calls that differ from the previous one.
    rows = "SELECT text, count(*) FROM operator_alias JOIN string ON string.id = name GROUP BY 1"
    counts = dict(recorded.query(trace, rows))
    assert counts == {"my::hides": 1, "my::claims": 1, "my::agrees": 1, "my::sometimes": 3, "my::fresh": 1}
    shown = recorded.tool("lint", "--fail-on-findings", tmp_path / "out")
    assert shown.returncode == 1
    assert "3 of 5 operators share memory not with the arguments that the schema says." in shown.stdout


@pytest.mark.parametrize("hidden", [True, False])
def test_the_executors_operators_and_its_switch(tmp_path, hidden):
    env = recorded.environment(DCMT_BUILD_DIR=str(recorded.BUILD))
    env["PYTHONPATH"] = f"{recorded.ROOT / 'executor' / 'python'}:{env['PYTHONPATH']}"
    switch = ("--switch", "undeclared_alias") * hidden
    recorded.record(
        tmp_path / "out", "-m", "dcmt_zero3.train", "--steps", 1, "--layers", 1, "--compiled", *switch, env=env
    )
    found = lint(tmp_path / "out", "--fail-on-findings", code=hidden)["operators"]
    wrong = {one["name"]: one["aliases"] for one in found if any(f["consequence"] != "none" for f in one["aliases"])}
    fact = {"output": 0, "argument": 0, "argument_name": "t"}
    early = [{**fact, "declared": False, "observed": True, "consequence": "early"}]
    names = ("dcmt_z3::release_param.undeclared", "dcmt_z3::wait_allgather.undeclared")
    assert wrong == (dict.fromkeys(names, early) if hidden else {})
    assert any(one["name"] == "dcmt_z3::allgather_param" for one in found)
