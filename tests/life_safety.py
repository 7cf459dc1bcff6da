"""Running a program plainly and under the recorder, and comparing what anybody outside sees of it."""

from __future__ import annotations

import os
import pathlib
import subprocess

import recorded

FOLDER = recorded.BUILD / "tests" / "programs" / "life_safety"
LIFE = recorded.BUILD / "bin" / "life"
EXTENSIONS = [FOLDER / f"liblife_extension_{binding}.so" for binding in ("lazy", "now")]
TENSOR_BYTES = 100_000

# More of everything, for scripts/soak.
SCALE = int(os.environ.get("DCMT_LIFE_SCALE", "1"))

# A run that takes longer hangs. Far above what any of these programs needs, on a busy machine too.
WATCHDOG = 90


def watched(*command: object, **options) -> subprocess.CompletedProcess:
    options.setdefault("env", recorded.environment())
    words = list(map(str, command))
    return subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG * SCALE, **options)


def shell_code(code: int) -> int:
    return 128 - code if code < 0 else code


def unharmed(folder: pathlib.Path, *command: object, run: tuple = (), **options) -> subprocess.CompletedProcess:
    """Runs a command twice, plainly and recorded into `folder`: output, errors and exit status must be the same."""
    plain = watched(*command, **options)
    seen = watched(recorded.TOOL, "run", "-o", folder, *run, "--", *command, **options)
    assert seen.returncode == shell_code(plain.returncode), (plain, seen)
    assert seen.stdout == plain.stdout
    assert seen.stderr == plain.stderr
    return seen


def the_trace(folder: pathlib.Path) -> pathlib.Path:
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
    return trace


def blocks(trace: pathlib.Path, size: int = TENSOR_BYTES) -> int:
    return recorded.query(trace, "SELECT count(*) FROM block WHERE bytes = ?", size)[0][0]


def lost(trace: pathlib.Path) -> int:
    return recorded.query(trace, "SELECT coalesce(sum(count), 0) FROM loss")[0][0]


def notes(trace: pathlib.Path) -> str:
    rows = recorded.query(trace, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text")
    return "\n".join(text for (text,) in rows)
