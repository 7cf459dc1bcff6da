"""A torch that the provider was not built for: refused by name, and the job runs as it does alone."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess

import pytest
import recorded
import torch
from life_safety import LIFE

JOB = (LIFE, "leave", "exit")  # in C++, because Python needs seconds to import torch


def shared_object(path: pathlib.Path, source: str) -> pathlib.Path:
    command = ["cc", "-shared", "-fPIC", "-xc", "-", "-o", path]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def refusal_of(result: subprocess.CompletedProcess, folder: pathlib.Path) -> str:
    """The one line that says why nothing was recorded. Checks that the job's output and exit code are not changed."""
    assert (result.stdout, result.returncode) == ("before the end\n", 3)
    (line,) = result.stderr.splitlines()
    assert "nothing is recorded" in line and "doctor --prepare --python" in line
    assert recorded.traces(folder) == []
    report = recorded.tool("report", folder)
    assert report.returncode == 3 and line.removeprefix("dc-memtrace: ") in report.stderr, "the folder says why, too"
    return line


def test_another_version_whose_symbols_are_alike(tmp_path):
    version = "unsigned long aoti_torch_abi_version(void) { return (2ul << 56) | (99ul << 48); }"
    stub = shared_object(tmp_path / "stub.so", version)
    environment = recorded.environment(LD_PRELOAD=str(stub))
    result = recorded.tool("run", "-o", tmp_path / "out", "--", *JOB, env=environment)
    line = refusal_of(result, tmp_path / "out")
    built = re.match(r"\d+\.\d+", torch.__version__)[0]
    assert f"built for torch {built}, but torch 2.99 runs here" in line


def test_another_version_that_lacks_a_symbol(tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(recorded.TOOL, tmp_path / "bin")
    shutil.copytree(recorded.BUILD / "lib", tmp_path / "lib")
    (tmp_path / "share").symlink_to(recorded.BUILD / "share")
    runs = re.match(r"\d+\.\d+", torch.__version__)[0]
    provider = tmp_path / "lib" / "dcmt" / f"torch-{runs}" / "libdcmt_torch.so"
    provider.unlink()
    shared_object(provider, "void not_in_torch(void); void dcmt_provider_start(void) { not_in_torch(); }")
    tool = tmp_path / "bin" / recorded.TOOL.name
    command = [tool, "run", "-o", tmp_path / "out", "--", *JOB]
    result = subprocess.run(command, capture_output=True, text=True, env=recorded.environment(), timeout=180)
    line = refusal_of(result, tmp_path / "out")
    assert f"not built for the torch {runs} that runs here" in line and "not_in_torch" in line


SLOTS = ("copies of tensors", "tensors that get another's storage", "ends of storages")


@pytest.mark.parametrize("slot", SLOTS)
def test_a_virtual_function_that_moved(tmp_path, slot):
    """The slot of the witnesses differs from the one that torch calls, as if another function had been inserted before it."""
    environment = recorded.environment(DC_MEMTRACE_TEST_MOVED_SLOT=slot)
    result = recorded.tool("run", "-o", tmp_path / "out", "--", *JOB, env=environment)
    assert f"does not call what is hooked for {slot}: " in refusal_of(result, tmp_path / "out")


def test_a_source_that_can_be_done_without_is_switched_off_by_name(tmp_path):
    environment = recorded.environment(DC_MEMTRACE_TEST_MOVED_SLOT="ends of functional storages")
    result = recorded.tool("run", "-o", tmp_path / "out", "--", LIFE, "make", 3, env=environment)
    assert (result.stdout, result.returncode) == ("3\n", 0)
    (trace,) = recorded.traces(tmp_path / "out")
    texts = recorded.query(trace, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text")
    assert any("hooked for ends of functional storages: these are not seen" in text for (text,) in texts)


# A fake of CUDA's allocator that only reports: address, bytes, torch's two counters, device.
REPORTER = """
typedef unsigned long size;
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void*, long, size, size, unsigned short);
void report(void* block, long bytes, size allocated) {
  _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(block, bytes, allocated, 1ul << 26, 1);
}
"""
REPORTS = """
import ctypes, pathlib, sys, torch
ctypes.CDLL(pathlib.Path(torch.__file__).parent / "lib/libc10.so", ctypes.RTLD_GLOBAL)
report = ctypes.CDLL(sys.argv[1]).report
report.argtypes = (ctypes.c_void_p, ctypes.c_long, ctypes.c_ulong)
torch.ones(3)  # loaded objects are searched
before = int(sys.argv[2])
report(1 << 40, 1 << 20, before + (1 << 20))
report(2 << 40, 1 << 22, before + 5 * (1 << 20))
report(1 << 40, -(1 << 20), before + (1 << 22))
"""


@pytest.mark.parametrize("before, blocks", [(0, [1 << 20, 1 << 22]), (4096, [])])
def test_blocks_of_cuda_are_compared_with_torchs_own_counter(tmp_path, before, blocks):
    reporter = shared_object(tmp_path / "libc10_cuda.so.reporter", REPORTER)
    recorded.record(tmp_path / "out", "-c", REPORTS, reporter, before)
    (trace,) = recorded.traces(tmp_path / "out")
    of_cuda = recorded.query(trace, "SELECT bytes FROM block WHERE device LIKE 'cuda%' ORDER BY bytes")
    assert [size for (size,) in of_cuda] == blocks
    texts = recorded.query(trace, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text")
    assert any("blocks of CUDA are not seen" in text for (text,) in texts) == (not blocks)
