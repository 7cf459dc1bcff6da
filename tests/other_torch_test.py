"""A torch that the provider was not built for: refused by name, and the job runs as it does alone."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import recorded
import torch

JOB = "import sys, torch; print(torch.ones(3).sum().item()); sys.exit(7)"


def shared_object(path: pathlib.Path, source: str) -> pathlib.Path:
    command = ["cc", "-shared", "-fPIC", "-xc", "-", "-o", path]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def refusal_of(result: subprocess.CompletedProcess, folder: pathlib.Path) -> str:
    """The one line that says why nothing was recorded; the job's output and exit code are its own."""
    assert (result.stdout, result.returncode) == ("3.0\n", 7)
    (line,) = result.stderr.splitlines()
    assert "nothing is recorded" in line and "DCMT_PYTHON" in line
    assert recorded.traces(folder) == []
    return line


def test_another_version_whose_symbols_are_alike(tmp_path):
    version = "unsigned long aoti_torch_abi_version(void) { return (2ul << 56) | (99ul << 48); }"
    stub = shared_object(tmp_path / "stub.so", version)
    environment = recorded.environment(LD_PRELOAD=str(stub))
    result = recorded.tool("run", "-o", tmp_path / "out", "--", sys.executable, "-c", JOB, env=environment)
    line = refusal_of(result, tmp_path / "out")
    built = re.match(r"\d+\.\d+", torch.__version__)[0]
    assert f"built for torch {built}, but torch 2.99 runs here" in line


def test_another_version_that_lacks_a_symbol(tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(recorded.TOOL, tmp_path / "bin")
    shutil.copytree(recorded.BUILD / "lib", tmp_path / "lib")
    (tmp_path / "share").symlink_to(recorded.BUILD / "share")
    provider = tmp_path / "lib" / "dcmt" / "libdcmt_torch.so"
    provider.unlink()
    shared_object(provider, "void not_in_torch(void); void dcmt_provider_start(void) { not_in_torch(); }")
    tool = tmp_path / "bin" / recorded.TOOL.name
    command = [tool, "run", "-o", tmp_path / "out", "--", sys.executable, "-c", JOB]
    result = subprocess.run(command, capture_output=True, text=True, env=recorded.environment(), timeout=180)
    line = refusal_of(result, tmp_path / "out")
    runs = re.match(r"\d+\.\d+", torch.__version__)[0]
    assert f"not built for the torch {runs} that runs here" in line and "not_in_torch" in line
