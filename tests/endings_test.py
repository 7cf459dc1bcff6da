"""How a program ended is said on the terminal, piped or not, and in the report."""

from __future__ import annotations

import sys

import recorded

MEMORY_ERROR = """
import resource, torch
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
torch.ones(50_000)
def load(kept):
    kept.append(bytearray(16 << 30))
load([])
"""
RANKS = """
import os, signal, subprocess, sys
child = "import os, signal, torch; kept = torch.ones(500_000); int(os.environ['RANK']) and os.kill(os.getpid(), signal.SIGKILL)"
for rank in "01":
    subprocess.run([sys.executable, "-c", child], env={**os.environ, "RANK": rank, "WORLD_SIZE": "2", "MASTER_PORT": "1"})
"""


def run(folder, *command):
    result = recorded.tool("run", "-o", folder, "--", *command)
    said = [line.removeprefix("dc-memtrace: ") for line in result.stderr.splitlines() if line.startswith("dc-memtrace: ")]
    return result.returncode, said


def test_a_memory_error_has_its_line_and_the_limit(tmp_path):
    (tmp_path / "load.py").write_text(MEMORY_ERROR)
    code, (line,) = run(tmp_path / "out", sys.executable, tmp_path / "load.py")
    assert code == 1
    assert " ended with MemoryError at load.py:6 load; the process is limited to 8192 MiB (ulimit -v); " in line
    report = recorded.tool("report", tmp_path / "out").stdout
    assert report.startswith("Ended with MemoryError at load.py:6 load; the process is limited to 8192 MiB")
    assert report.count("MemoryError") == 1


def test_a_rank_that_was_killed(tmp_path):
    (tmp_path / "ranks.py").write_text(RANKS)
    code, said = run(tmp_path / "out", sys.executable, tmp_path / "ranks.py")
    exits = {trace.name: recorded.meta(trace)["exit"] for trace in recorded.traces(tmp_path / "out")}
    assert code == 0 and exits["rank0.dcmt"] in recorded.exits(0, "exit unseen")
    if exits["rank1.dcmt"] == "unknown":  # an old kernel, and a parent that asked at once
        assert recorded.exits(0, "") != {"exit 0"} and said == []
        return
    assert exits["rank1.dcmt"] == "signal 9"
    assert said == ["rank 1 was ended by SIGKILL in step 0: 1.9 MiB were allocated by torch then, 1.9 MiB at the peak"]


def test_a_script_that_is_not_there(tmp_path):
    (tmp_path / "main.py").write_text("")
    for name, line in (("mian.py", "mian.py: no such file. There is main.py"), ("other.py", "other.py: no such file")):
        result = recorded.tool("run", "-o", tmp_path / "out", name, cwd=tmp_path)
        assert recorded.one_line(result, 127) == f"dc-memtrace: {line}"
    assert recorded.one_line(recorded.tool("run", "-o", tmp_path / "out", "no_such", cwd=tmp_path), 127).endswith("command not found")
