"""A hundred kinds of job, each run with and without recording: nothing observable from outside differs."""

from __future__ import annotations

import ctypes.util
import os
import pathlib
import re
import subprocess
import sys

import job_kinds
import life_safety
import pytest
import recorded

SOAK = life_safety.SCALE > 1
KINDS = {**job_kinds.FAST, **(job_kinds.LONG if SOAK else {})}
# Messages of the tool about a recording, and of the script's own shell about a child that a signal ended.
NOT_THE_JOBS = re.compile(r"dc-memtrace: |bash: line \d+: +\d+ |Terminated$")
PROGRAMS = recorded.PROGRAMS / "job_kinds"


def outcome(folder: pathlib.Path, script: str, run: str) -> tuple[str, str, int]:
    work = folder / ("recorded" if run else "plain")
    work.mkdir()
    out = folder / "out"
    env = recorded.environment(
        RUN=f"{recorded.TOOL} run {run} -o {out} --" if run else "",
        RUN_FULL=f"{recorded.TOOL} run {run} --detail full -o {out} --" if run else "",
        PY=sys.executable,
        TOOL=str(recorded.TOOL),
        LIFE=str(life_safety.LIFE),
        STATIC=str(life_safety.FOLDER / "life_static"),
        SEND=f"{sys.executable} -S {PROGRAMS / 'send.py'}",
        COUNT=f"{sys.executable} -S {PROGRAMS / 'count.py'}",
        PYTHONDONTWRITEBYTECODE="1",
        **{
            name: ctypes.util.find_library(library) or ""
            for name, library in (("JEMALLOC", "jemalloc"), ("TCMALLOC", "tcmalloc_minimal"))
        },
    )
    result = subprocess.run(
        ["bash", "-c", script], env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=life_safety.WATCHDOG,
    )  # fmt: skip
    lines = result.stderr.decode(errors="replace").replace(os.fspath(work), "").splitlines()
    errors = "\n".join(line for line in lines if not NOT_THE_JOBS.match(line))
    output = result.stdout.decode(errors="replace").replace(os.fspath(work), "")
    return output, errors, life_safety.shell_code(result.returncode)


@pytest.mark.parametrize("kind", recorded.some(KINDS, 2))
def test_a_kind_of_job(tmp_path, kind):
    plain = outcome(tmp_path, KINDS[kind], "")
    assert outcome(tmp_path, KINDS[kind], "-q") == plain


def test_there_are_a_hundred_kinds():
    assert len({**job_kinds.FAST, **job_kinds.LONG}) >= 100
