"""What `dc-memtrace lint` finds in the text of a generated wrapper; lint_test.py records and compares real ones."""

from __future__ import annotations

import ast
import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).resolve().parents[1] / "analyzer" / "generated" / "undeleted_names.py"
spec = importlib.util.spec_from_file_location("undeleted_names", PATH)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

HEAD = """\
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()
class Runner:
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
"""
FIRST_LINE = 7  # of a body


@pytest.fixture
def lint(tmp_path):
    """Returns the storages found in a wrapper with this body."""

    def run(body: str) -> list[dict]:
        lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
        (tmp_path / "output_code.py").write_text(f"{HEAD}{lines}\nrunner = Runner(partitions=[])\n")
        return module.lint(str(tmp_path / "output_code.py"), ["my::wait_*", "my::release_*"])["storages"]

    return run


def names(storage: dict) -> list[tuple]:
    return [(one["name"], one["line"], one["aliases"], one["missing_delete_after"]) for one in storage["names"]]


def test_a_gathered_weight_that_a_second_name_keeps(lint):
    (storage,) = lint("""
buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)
del arg0_1
buf1 = buf0
del buf0
buf4 = torch.ops.my.wait_gather.default(buf1, 0, 7)
buf5 = buf4  # alias
buf6 = empty_strided_cpu((4, 5), (5, 1), torch.float32)
extern_kernels.mm(arg1_1, reinterpret_tensor(buf5, (5, 4), (1, 5), 0), out=buf6)
del buf4
buf7 = torch.ops.my.release_gather.default(buf6, 0, 7, 1)
buf8 = empty_strided_cpu((4, 5), (5, 1), torch.float32)
extern_kernels.mm(buf7, arg1_1, out=buf8)
del buf6
del buf7
return (buf8, )
""")
    assert names(storage) == [("buf1", 9, "buf0", 11), ("buf5", 12, "buf4", 14)]
    assert storage["names"][1]["statement"] == "buf5 = buf4"
    del storage["names"]
    assert storage == {
        "function": "Runner.call",
        "line": 7,
        "statement": "buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)",
        "operator": "my::gather",
        "deleted_names": ["buf0", "buf4"],
        "last_use_line": 14,
        "release_line": 16,
        "return_line": 21,
        "calls_after": 3,
    }


CLEAN = {
    "names that are all deleted": """
buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)
buf1 = buf0; del buf0  # reuse
buf2 = reinterpret_tensor(buf1, (4, ), (1, ), 0)
cpp_fused_add_0(buf2)
del buf1, buf2
cpp_fused_add_1(arg1_1)
return (arg1_1, )
""",
    "what is returned lives on purpose": """
buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)
buf1 = buf0
cpp_fused_add_1(arg1_1)
return (reinterpret_tensor(buf1, (4, ), (1, ), 0), arg1_1, )
""",
    "nothing is called after the last use": """
buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)
buf1 = buf0
cpp_fused_add_1(buf1, arg1_1)
return (arg1_1, )
""",
    "a view is no call": """
buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)
buf1 = buf0
buf2 = empty_strided_cpu((4, ), (1, ), torch.float32)
cpp_fused_add_1(buf1, buf2)
buf3 = reinterpret_tensor(buf2, (2, 2), (2, 1), 0); del buf2  # reuse
return (buf3, )
""",
    "text in strings and comments is no code": """
buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)  # buf9 = buf0
run('''buf1 = buf0''')
del buf0
cpp_fused_add_1(arg1_1)
return (arg1_1, )
""",
    "a shape symbol is a number": """
s77 = arg0_1
u0 = arg1_1
buf0 = empty_strided_cpu((s77, u0), (u0, 1), torch.float32)
cpp_fused_0(buf0, s77, u0)
buf1 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
cpp_fused_1(buf0, buf1)
del buf0
return (buf1, )
""",
    "one storage of a call is dead and deleted, the other returned": """
buf0 = torch.ops.my.split.default(arg0_1)
buf1 = buf0[0]
buf2 = buf0[1]
del buf0
cpp_fused_0(buf1)
del buf1
cpp_fused_1(buf2)
return (buf2, )
""",
    "two elements of a call, the first dead before the second is used": """
buf0 = torch.ops.my.split.default(arg0_1)
buf1 = buf0[0]
assert_size_stride(buf1, (2, 2), (2, 1))
buf2 = buf0[1]
del buf0
cpp_fused_0(buf1)
del buf1
cpp_fused_1(buf2)
del buf2
cpp_fused_2(arg1_1)
return (arg1_1, )
""",
}


@pytest.mark.parametrize("body", CLEAN.values(), ids=CLEAN)
def test_clean(lint, body):
    assert lint(body) == []


def test_of_two_storages_of_one_call_only_the_one_that_is_kept(lint):
    """The old reader mistook buf1 and buf2 for one storage, whose last use was that of buf2."""
    (storage,) = lint("""
buf0 = torch.ops.my.split.default(arg0_1)
buf1 = buf0[0]
buf2 = buf0[1]
del buf0
cpp_fused_0(buf1)
cpp_fused_1(buf2)
return (buf2, )
""")
    assert names(storage) == [("buf1", 8, "buf0", 11)]
    assert (storage["last_use_line"], storage["calls_after"], storage["operator"]) == (11, 1, "my::split")


def test_the_tuple_of_a_call_keeps_both_of_its_storages(lint):
    found = lint("""
buf0 = torch.ops.my.split.default(arg0_1)
buf1 = buf0[0]
buf2 = buf0[1]
cpp_fused_0(buf1, buf2)
del buf1, buf2
cpp_fused_1(arg1_1)
return (arg1_1, )
""")
    assert [names(storage) for storage in found] == [[("buf0", 7, None, 9)]] * 2
    assert [storage["deleted_names"] for storage in found] == [["buf1"], ["buf2"]]


def test_a_second_name_of_an_argument(lint):
    (storage,) = lint("""
buf0 = reinterpret_tensor(arg0_1, (4, ), (1, ), 0); del arg0_1  # alias
cpp_fused_add_0(buf0)
cpp_fused_add_1(arg1_1)
return (arg1_1, )
""")
    assert storage["line"] == 5 and names(storage)[0][0] == "buf0"


def test_a_statement_over_several_lines_and_inside_a_guard(lint):
    (storage,) = lint("""
with torch.cuda._DeviceGuard(0):
    buf0 = torch.ops.my.gather.default(
        arg0_1, 0, 7)
    buf1 = buf0[0]
    del buf0
    cpp_fused_add_1(arg1_1)
return (arg1_1, )
""")
    assert storage["line"] == 8 and names(storage) == [("buf1", 10, "buf0", 10)]
    assert storage["statement"] == "buf0 = torch.ops.my.gather.default(arg0_1, 0, 7)"


def test_the_dynamic_wrapper_of_inductor(tmp_path):
    """Written by torch 2.11 for a batch of any size: `s77 = arg0_1` is a size."""
    (tmp_path / "dyn.py").write_text("""\
# AOT ID: ['0_inference']
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()
class Runner:
    def call(self, args):
        arg0_1, arg1_1, arg2_1 = args
        args.clear()
        s77 = arg0_1
        s27 = arg1_1
        assert_size_stride(arg2_1, (s77, s27), (s27, 1))
        buf0 = empty_strided_cpu((s77, s27), (s27, 1), torch.float32)
        cpp_fused_0(arg2_1, buf0, s77, s27)
        del arg2_1
        buf1 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
        cpp_fused_1(buf0, buf1)
        del buf0
        return (buf1, )
""")
    assert module.lint(str(tmp_path / "dyn.py"), []) == {"storages": []}


def test_what_is_no_wrapper_and_what_python_cannot_parse(tmp_path):
    file = tmp_path / "file.py"
    file.write_text("def call(args):\n    args.clear()\n")
    assert module.lint(str(file), []) is None
    file.write_text(HEAD + "        buf0 = = 1\n")
    assert module.lint(str(file), [])["error"].startswith(f"line {FIRST_LINE}: ")
    file.write_bytes(HEAD.encode() + b"\0")
    assert module.lint(str(file), [])["error"]
    file.write_text(HEAD + "        buf0 = " + "(" * 5000 + "1" + ")" * 5000 + "\n")
    assert module.lint(str(file), [])["error"]
    file.write_text(HEAD + "        buf0 = " + "-" * 20000 + "1\n")
    assert set(module.lint(str(file), [])) & {"error", "storages"}


def test_it_needs_no_newer_syntax_than_it_says():
    ast.parse(PATH.read_text(), feature_version=(3, 8))
