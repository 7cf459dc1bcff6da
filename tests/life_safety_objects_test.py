"""Shared objects that are loaded and unloaded, and other libraries that must be loaded first."""

from __future__ import annotations

import ctypes.util
import pathlib
import shutil
import subprocess
import sys

import life_safety
import pytest
import recorded
from life_safety import EXTENSIONS, FOLDER, LIFE, the_trace, unharmed

AGENT = recorded.BUILD / "lib" / "dcmt" / "libdcmt_agent.so"
EXTENSION_BYTES = 123_456


def test_extensions_loaded_and_unloaded_again_and_again(tmp_path):
    """Each load is patched, at any address, with lazy binding or closed at once. The program allocates meanwhile."""
    files = ",".join(map(str, EXTENSIONS))
    assert unharmed(tmp_path / "out", LIFE, "load", files, run=("--spool-mib", "256")).stdout == "100\n"
    trace = the_trace(tmp_path / "out")
    assert life_safety.lost(trace) == 0
    assert life_safety.blocks(trace, EXTENSION_BYTES) == 100


def test_everything_bound_at_once(tmp_path):
    env = recorded.environment(LD_BIND_NOW="1")
    unharmed(tmp_path / "out", LIFE, "load", EXTENSIONS[0], env=env)
    assert life_safety.blocks(the_trace(tmp_path / "out"), EXTENSION_BYTES) == 50


def test_runpath_and_next_symbol_are_the_callers(tmp_path):
    seen = unharmed(tmp_path / "out", LIFE, "find_both", FOLDER / "liblife_origin.so")
    assert seen.stdout == "find_beside: apart\nfind_next: none\n"


def test_a_name_space_of_its_own(tmp_path):
    assert unharmed(tmp_path / "out", LIFE, "load_apart", FOLDER / "liblife_apart.so").stdout == "apart\n"


def test_static_programs(tmp_path):
    seen = life_safety.watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--", FOLDER / "life_static")
    assert (seen.stdout, seen.returncode) == ("static\n", 5)


def test_32_bit_programs(tmp_path):
    """The 32-bit loader reports that it ignores the agent. The program runs."""
    if not pathlib.Path("/lib/ld-linux.so.2").exists() or shutil.which("as") is None:
        pytest.skip("no 32-bit dynamic loader here (libc6-i386)")
    source = recorded.PROGRAMS / "life_safety" / "tiny32.S"
    subprocess.run(["as", "--32", source, "-o", tmp_path / "tiny.o"], check=True)
    program = tmp_path / "tiny32"
    subprocess.run(
        ["ld", "-m", "elf_i386", "-pie", "-dynamic-linker", "/lib/ld-linux.so.2", tmp_path / "tiny.o", "-o", program],
        check=True,
    )
    assert life_safety.watched(program).returncode == 6
    seen = life_safety.watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--", program)
    assert (seen.stdout, seen.returncode) == ("", 6)


def test_a_run_within_a_run(tmp_path):
    """The inner run records, with its own agent."""
    inner = tmp_path / "inner"
    seen = life_safety.watched(
        recorded.TOOL, "run", "-o", tmp_path / "outer", "--", recorded.TOOL, "run", "-o", inner, "--", LIFE, "make", 3
    )
    assert (seen.stdout, seen.returncode) == ("3\n", 0)
    assert life_safety.blocks(the_trace(inner)) == 3
    assert recorded.traces(tmp_path / "outer") == []


def test_a_second_agent_stays_out(tmp_path):
    other = tmp_path / "other" / AGENT.name
    other.parent.mkdir()
    shutil.copy(AGENT, other)
    seen = life_safety.watched(
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", "env", f"LD_PRELOAD={other} {AGENT}", LIFE, "make", 3
    )
    assert (seen.stdout, seen.stderr, seen.returncode) == ("3\n", "", 0)
    assert life_safety.blocks(the_trace(tmp_path / "out")) == 3


@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc_minimal"])
@pytest.mark.parametrize("case", [("fork", 5), ("threads", 100)])
def test_other_allocators(tmp_path, allocator, case):
    library = ctypes.util.find_library(allocator)
    if library is None:
        pytest.skip(f"{allocator} is not installed here")
    unharmed(tmp_path / "out", LIFE, *case, env=recorded.environment(LD_PRELOAD=library))
    assert life_safety.blocks(the_trace(tmp_path / "out")) > 0


SEARCHES = """
import ctypes, torch
searches = ctypes.CDLL(None).life_searches
def work():
    for _ in range(100):
        torch.ones(1 << 16).view(-1) + 1
work()
before = searches()
work()
print(before > 0, searches() - before)
"""


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_objects_are_inspected_when_one_was_loaded_only(tmp_path, detail):
    """With torch's CUDA libraries loaded, each of the agent's checks for them caused the next check."""
    seen = life_safety.watched(
        recorded.TOOL, "run", "-o", tmp_path / "out", "--detail", detail, "--", sys.executable, "-c", SEARCHES,
        env=recorded.environment(LD_PRELOAD=str(FOLDER / "liblife_searches.so")),
    )
    assert seen.stdout == "True 0\n"


def address_sanitizer() -> str:
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    path = pathlib.Path(found.stdout.strip())
    if not path.is_absolute():
        pytest.skip("gcc has no address sanitizer here")
    return str(path.resolve())


def test_a_preloaded_address_sanitizer(tmp_path):
    env = recorded.environment(LD_PRELOAD=address_sanitizer(), ASAN_OPTIONS="detect_leaks=0")
    plain = life_safety.watched(LIFE, "make", 3, env=env)
    # The recorder is not the program under the sanitizer.
    seen = life_safety.watched(
        recorded.TOOL, "run", "-o", tmp_path / "out", "--", "env", f"LD_PRELOAD={env['LD_PRELOAD']}:{AGENT}",
        LIFE, "make", 3, env=recorded.environment(ASAN_OPTIONS="detect_leaks=0"),
    )  # fmt: skip
    assert (seen.stdout, seen.stderr, seen.returncode) == (plain.stdout, plain.stderr, plain.returncode)
    assert seen.stdout == "3\n"
    assert life_safety.blocks(the_trace(tmp_path / "out")) == 3


def test_a_program_built_with_the_address_sanitizer(tmp_path):
    address_sanitizer()
    program = tmp_path / "sanitized"
    source = recorded.PROGRAMS / "life_safety" / "plain.c"
    subprocess.run(["gcc", "-fsanitize=address", source, "-o", program], check=True)
    seen = life_safety.watched(recorded.TOOL, "run", "-o", tmp_path / "out", "--", program)
    assert (seen.stdout, seen.returncode) == ("static\n", 5), seen.stderr
