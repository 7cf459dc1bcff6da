"""Tests of the package dc_memtrace with a fake table that logs its calls, and without the tool. No torch needed."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent

FAKE_TABLE = r"""
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "dcmt/marks.h"

static FILE* log_file(void) {
  static FILE* file;
  if (!file) file = fopen(getenv("FAKE_LOG"), "w");
  setvbuf(file, NULL, _IOLBF, 4096);
  return file;
}
#define LOG(...) fprintf(log_file(), __VA_ARGS__)
static int recording(void) { return 1; }
static void mark(const char* name) { LOG("mark %s\n", name); }
static uint64_t phase_begin(const char* name) { LOG("phase_begin %s\n", name); return UINT64_C(1) << 40; }
static void phase_end(uint64_t phase) { LOG("phase_end %" PRIu64 "\n", phase); }
static void step(int64_t number) { LOG("step %" PRId64 "\n", number); }
static void gather(int64_t graph, int64_t key, void* tensor, void* object) {
  LOG("gather %" PRId64 " %" PRId64 " %d %" PRIuPTR "\n", graph, key, tensor != NULL, (uintptr_t)object);
}
static void wait_(int64_t graph, int64_t key, void* tensor, void* object) {
  LOG("wait %" PRId64 " %" PRId64 " %d %" PRIuPTR "\n", graph, key, tensor != NULL, (uintptr_t)object);
}
static void persist(int64_t graph, int64_t key) { LOG("persist %" PRId64 " %" PRId64 "\n", graph, key); }
static void release_begin(int64_t graph, int64_t key, int32_t users) {
  LOG("release_begin %" PRId64 " %" PRId64 " %" PRId32 "\n", graph, key, users);
}
static void release_end(int64_t graph, int64_t key) { LOG("release_end %" PRId64 " %" PRId64 "\n", graph, key); }
static void census(void* tensor, void* object) { LOG("census %d %" PRIuPTR "\n", tensor != NULL, (uintptr_t)object); }
static int cpu_memory(dcmt_cpu_memory* memory, uint64_t timeout_ns, int begins_anew) {
  LOG("cpu_memory %" PRIu64 " %d\n", timeout_ns, begins_anew);
  *memory = (dcmt_cpu_memory){300, 500, 400, 1};
  return 1;
}
static int find_holders(uint64_t timeout_ns) { LOG("find_holders %" PRIu64 "\n", timeout_ns); return 1; }

#ifndef TABLE_BYTES
#define TABLE_BYTES sizeof(dcmt_marks)
#endif
static const dcmt_marks table = {TABLE_BYTES, DCMT_MARKS_VERSION, recording, mark, phase_begin, phase_end, step,
                                 gather, wait_, persist, release_begin, release_end, census,
                                 find_holders, cpu_memory};
__attribute__((visibility("default"))) const dcmt_marks* dcmt_get_marks(uint32_t version);
const dcmt_marks* dcmt_get_marks(uint32_t version) { return version == 1 ? &table : NULL; }
"""

# A torch with only the class that the package needs.
PRELUDE = """
import gc, sys, types, warnings
torch = types.ModuleType("torch")
class Tensor: pass
torch.Tensor = Tensor
sys.modules["torch"] = torch
import dc_memtrace
"""


def build(folder, *flags):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = folder / "fake_table.c", folder / "libfake_table.so"
    source.write_text(FAKE_TABLE)
    include = HERE.parent / "collector" / "include"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *flags, "-I", include, source, "-o",
                    library, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    return build(tmp_path_factory.mktemp("fake"))


def run(program, preload=None, log=None):
    """Runs a program; returns what it printed."""
    environment = dict(os.environ, PYTHONPATH=str(HERE))
    if preload is not None:
        environment.update(LD_PRELOAD=str(preload), FAKE_LOG=str(log))
    done = subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(program)], env=environment, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def recorded(fake, tmp_path):
    """Runs a program under the fake table; returns the calls and what it printed."""

    def run_recorded(program):
        log = tmp_path / "log"
        log.write_text("")
        printed = run(program, fake, log)
        return log.read_text().splitlines(), printed.splitlines()

    return run_recorded


def test_marks_phases_and_steps(recorded):
    calls, printed = recorded("""
        print(dc_memtrace.recording())
        dc_memtrace.mark("größe")
        with dc_memtrace.phase("forward"):
            with dc_memtrace.phase("layer"):
                pass
        span = dc_memtrace.phase("again")
        with span:
            with span:
                pass
        dc_memtrace.step()
        dc_memtrace.step()
        dc_memtrace.step(7)
        dc_memtrace.step()
    """)
    assert printed == ["True"]
    assert calls == ["mark größe", "phase_begin forward", "phase_begin layer", f"phase_end {1 << 40}",
                     f"phase_end {1 << 40}", "phase_begin again", "phase_begin again", f"phase_end {1 << 40}",
                     f"phase_end {1 << 40}", "step 0", "step 1", "step 7", "step 8"]


def test_keys(recorded):
    calls, printed = recorded("""
        t = Tensor()
        print(id(t))
        dc_memtrace.gather(3, t)
        dc_memtrace.wait(3, t, graph=-2)
        dc_memtrace.persist(4, graph=5)
        dc_memtrace.census(t)
        dc_memtrace.gather(1 << 40, t)
    """)
    address = printed[0]
    assert calls == [f"gather 0 3 0 {address}", f"wait -2 3 0 {address}", "persist 5 4", f"census 0 {address}",
                     f"gather 0 {1 << 40} 0 {address}"]


def test_the_wait_for_holders_has_its_time_in_nanoseconds(recorded):
    calls, printed = recorded("""
        print(dc_memtrace.find_holders(), dc_memtrace.find_holders(timeout=0.5), dc_memtrace.find_holders(timeout=-1))
    """)
    assert calls == ["find_holders 10000000000", "find_holders 500000000", "find_holders 0"]
    assert printed == ["True True True"]


def test_what_the_recorder_counts_of_the_cpu(recorded):
    calls, printed = recorded("""
        counted = dc_memtrace.peak()
        print(counted["cpu/allocated_bytes"], counted["cpu/peak_allocated_bytes"])
    """)
    assert calls == ["cpu_memory 0 0"]
    assert printed == ["300 500"]


def test_release_around_and_plain(recorded):
    calls, _ = recorded("""
        with dc_memtrace.release(1, users=2, graph=9):
            dc_memtrace.mark("inside")
        dc_memtrace.mark("after")
        dc_memtrace.release(2)
        dc_memtrace.mark("after plain")
        try:
            with dc_memtrace.release(3):
                raise ValueError
        except ValueError:
            dc_memtrace.mark("caught")
        with dc_memtrace.release(4) as kept:
            pass
        dc_memtrace.mark("kept")
        del kept
    """)
    assert calls == ["release_begin 9 1 2", "mark inside", "release_end 9 1", "mark after", "release_begin 0 2 1",
                     "release_end 0 2", "mark after plain", "release_begin 0 3 1", "release_end 0 3", "mark caught",
                     "release_begin 0 4 1", "release_end 0 4", "mark kept"]


def test_phase_ends_when_an_exception_leaves_it(recorded):
    calls, _ = recorded("""
        try:
            with dc_memtrace.phase("p"):
                1 / 0
        except ZeroDivisionError:
            dc_memtrace.mark("caught")
    """)
    assert calls == ["phase_begin p", f"phase_end {1 << 40}", "mark caught"]


KEEPS_NOTHING = """
    t = Tensor()
    before = sys.getrefcount(t)
    for _ in range(10):
        dc_memtrace.gather(1, t)
        dc_memtrace.wait(1, t)
        dc_memtrace.census(t)
    print(sys.getrefcount(t) - before)
    print(len(gc.get_referrers(t)))
"""


def test_keeps_no_tensor(recorded):
    assert recorded(KEEPS_NOTHING)[1] == ["0", "1"]  # the referrer is the program's own namespace


def test_what_is_no_tensor_is_ignored_with_a_warning(recorded):
    calls, printed = recorded("""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dc_memtrace.gather(1, [1, 2])
            dc_memtrace.census(None)
        for w in caught:
            print(w.message)
    """)
    assert calls == []
    assert printed == ["dc_memtrace: list is no torch.Tensor; mark ignored",
                       "dc_memtrace: NoneType is no torch.Tensor; mark ignored"]


BAD_KEYS = """
    for call in (lambda: dc_memtrace.gather("a", Tensor()), lambda: dc_memtrace.release(1.5),
                 lambda: dc_memtrace.persist(None), lambda: dc_memtrace.step("x")):
        try:
            call()
        except TypeError:
            print("TypeError")
"""


def test_a_bad_key_is_an_error_recorded_or_not(recorded):
    calls, printed = recorded(BAD_KEYS)
    assert calls == []
    assert printed == run(BAD_KEYS).splitlines() == ["TypeError"] * 4


def test_without_the_tool():
    printed = run("""
        print(dc_memtrace.recording())
        dc_memtrace.mark("m")
        with dc_memtrace.phase("p"):
            pass
        dc_memtrace.step()
        dc_memtrace.gather(1, Tensor())
        dc_memtrace.wait(1, "not even a tensor")
        dc_memtrace.persist(1)
        dc_memtrace.release(1)
        with dc_memtrace.release(1):
            pass
        dc_memtrace.census(Tensor())
    """)
    assert printed == "False\n"
    assert run(KEEPS_NOTHING).splitlines() == ["0", "1"]


def test_cheap_without_the_tool():
    printed = run("""
        import timeit
        t = Tensor()
        print(min(timeit.repeat(lambda: dc_memtrace.gather(1, t), number=20000, repeat=5)) / 20000)
    """)
    assert float(printed) < 5e-6  # typically 0.2 µs; the bound only catches a look-up in every call


def test_an_agent_that_comes_late_is_found(fake, tmp_path):
    log = tmp_path / "log"
    printed = run(f"""
        import ctypes, os
        os.environ["FAKE_LOG"] = {str(log)!r}
        print(dc_memtrace.recording())
        ctypes.CDLL({str(fake)!r}, ctypes.RTLD_GLOBAL)
        import time
        time.sleep(1.1)
        print(dc_memtrace.recording())
        dc_memtrace.mark("late")
    """)
    assert printed.split() == ["False", "True"]
    assert log.read_text() == "mark late\n"


def test_an_older_table_is_not_used(tmp_path):
    library = build(tmp_path, "-DTABLE_BYTES=64")
    log = tmp_path / "log"
    assert run("print(dc_memtrace.recording()); dc_memtrace.mark('m')", library, log) == "False\n"
    assert not log.exists()


def test_bytes_are_worded_as_in_the_reports():
    from dc_memtrace._quantities import rounded_bytes

    sizes = {0: "0 B", 1023: "1,023 B", 1024: "1.0 KiB", 2**20 - 40: "1.0 MiB", 12_655_108: "12.1 MiB", 70 << 30: "70.0 GiB",
             5000 << 40: "5000.0 TiB", -(3 << 20): "-3.0 MiB"}  # as in trace/base/quantities_test.cpp
    assert {size: rounded_bytes(size) for size in sizes} == sizes
