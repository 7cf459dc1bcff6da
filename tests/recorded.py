"""Runs programs under the built dc-memtrace, and reads the recordings."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))  # for tests of the package's own functions
BUILD = pathlib.Path(os.environ.get("DCMT_BUILD_DIR", ROOT / "build" / "dev"))
TOOL = BUILD / "bin" / "dc-memtrace"
PROGRAMS = ROOT / "tests" / "programs"
# Runs all cases instead of some of them; for scripts/soak.
ALL = os.environ.get("DCMT_ALL_CASES") == "1"
for_soak = pytest.mark.skipif(not ALL, reason="for scripts/soak")
SAMPLE_OPERATORS = ("--operators", PROGRAMS / "sample_operators.toml")
SAMPLE = ROOT / "samples" / "zero3_release" / "train.py"


def exits(code: int, without: str) -> set[str]:
    """What the trace of a process says that is no child of the recorder, and exited with this code. `without`: what it says where the
    code is not known. From Linux 6.15 on, the kernel keeps the code; before that, it is known if the parent is slow to ask."""
    keeps = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 15)
    return {f"exit {code}"} if keeps else {f"exit {code}", without}


def some(cases, of: int) -> list:
    """All cases for scripts/soak, else every `of`-th one."""
    return list(cases)[:: 1 if ALL else of]


def environment(**more: str) -> dict[str, str]:
    """An environment in which this package and the tests' own Python come first, with long timeouts for a busy machine."""
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    programs = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    return {**os.environ, "PATH": programs, "PYTHONPATH": path, "DCMT_BUILD_DIR": str(BUILD),
            "DC_MEMTRACE_EXIT_WAIT": "100", **more}


def schema_sql() -> str:
    """The SQL that makes an empty trace of the newest schema."""
    return subprocess.run([BUILD / "bin" / "dcmt_schema", "sql"], capture_output=True, text=True, check=True).stdout


def tool(*arguments: object, **options) -> subprocess.CompletedProcess:
    """Runs dc-memtrace; output is captured as text."""
    options.setdefault("env", environment())
    options.setdefault("timeout", 180)
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, **options)


def baseline_section(baseline: pathlib.Path) -> dict:
    """The only section of a baseline that `check --update` wrote."""
    (section,) = (value for value in json.loads(baseline.read_text()).values() if isinstance(value, dict))
    return section


def one_line(result: subprocess.CompletedProcess, code: int) -> str:
    """The single line on standard error of a tool that exited with `code`."""
    assert result.returncode == code, result.stdout + result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("dc-memtrace: "), result.stderr
    return lines[0]


def python(*arguments: object, **options) -> subprocess.CompletedProcess:
    """Runs the tests' Python without the tool."""
    options.setdefault("env", environment())
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=180, **options)


def python_with(module: str) -> str | None:
    """A Python that can import the module; None if there is none."""
    for program in filter(None, (sys.executable, shutil.which("python3"))):
        if subprocess.run([program, "-I", "-c", f"import {module}"], capture_output=True).returncode == 0:
            return program
    return None


def record(
    folder: pathlib.Path, *command: object, detail: str = "lifetimes", flags: tuple[object, ...] = (), **options
) -> subprocess.CompletedProcess:
    """Records a Python program; fails the test if the program fails. `flags` are those of `dc-memtrace run`."""
    result = tool("run", "-o", folder, "--detail", detail, *flags, "--", sys.executable, *command, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


def trace_of_text(folder: pathlib.Path, program: str, detail: str) -> pathlib.Path:
    """The only trace of a Python program that is given as text."""
    script = folder / "program.py"
    script.write_text(program)
    record(folder / "out", script, detail=detail)
    (trace,) = traces(folder / "out")
    return trace


def report(folder: pathlib.Path) -> list[dict]:
    """`report --json`, one entry per trace."""
    result = tool("report", "--json", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)["traces"]


def releases(folder: pathlib.Path) -> list[dict]:
    """Every release of the only trace in a folder, by `show releases --json`."""
    result = tool("show", "releases", "--json", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    (trace,) = json.loads(result.stdout)["traces"]
    return trace["releases"]


def traces(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.glob("*.dcmt"))


def begun(folder: pathlib.Path) -> list[pathlib.Path]:
    """Traces that can be read while they are recorded. A recorder creates the file, then its tables, then marks it as begun."""

    def is_begun(trace: pathlib.Path) -> bool:
        try:
            return "state" in meta(trace)
        except sqlite3.DatabaseError:
            return False

    return list(filter(is_begun, traces(folder)))


def query(trace: pathlib.Path, sql: str, *parameters: object) -> list[tuple]:
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        return database.execute(sql, parameters).fetchall()


def meta(trace: pathlib.Path) -> dict:
    return dict(query(trace, "SELECT key, value FROM meta"))


def peak_of(trace: pathlib.Path) -> int:
    """The highest sum of live blocks, counted here and not by the analyzer."""
    total = peak = 0
    for (delta,) in query(
        trace,
        "SELECT delta FROM (SELECT from_seq AS seq, bytes AS delta FROM block"
        " UNION ALL SELECT to_seq, -bytes FROM block WHERE to_seq IS NOT NULL) ORDER BY seq, delta",
    ):
        total += delta
        peak = max(peak, total)
    return peak


def memory_counts(trace: pathlib.Path, begin: int, end: int) -> dict:
    """Allocations and frees between two sequences as counted by torch's own counter, from the trace's rows."""
    deltas = [
        delta
        for (delta,) in query(
            trace,
            "SELECT delta FROM (SELECT from_seq AS seq, bytes AS delta FROM block"
            " UNION ALL SELECT to_seq, -bytes FROM block WHERE to_seq IS NOT NULL)"
            " WHERE seq BETWEEN ? AND ? ORDER BY seq, delta",
            begin,
            end,
        )
    ]
    return {
        "allocations": sum(delta > 0 for delta in deltas),
        "frees": sum(delta < 0 for delta in deltas),
        "allocated_bytes": sum(delta for delta in deltas if delta > 0),
        "peak_bytes": max(itertools.accumulate(deltas, initial=0)),
        "left_bytes": sum(deltas),
    }
