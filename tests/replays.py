"""Records programs that gather parameters, and reproduces their steps."""

from __future__ import annotations

import json
import os

import recorded

RELEASE = recorded.ROOT / "samples" / "zero3_release" / "train.py"
TRAIN = ("-m", "dcmt_zero3.train", "--steps", "2", "--layers", "1", "--ranks", "2")
TENSOR_ONLY = ("--switch", "release_clears_tensor_only")
GATHERED = 1_048_580  # of each weight of samples/zero3_release


def environment() -> dict[str, str]:
    env = recorded.environment(DCMT_BUILD_DIR=str(recorded.BUILD), OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join([str(recorded.ROOT / "executor" / "python"), env["PYTHONPATH"]])
    return env


def record(folder, program):
    """The only trace of a program. The program may fail."""
    flags = recorded.SAMPLE_OPERATORS
    recorded.tool("run", "-o", folder, *flags, "--", recorded.sys.executable, *program, env=environment())
    (trace,) = recorded.traces(folder)
    return trace


def reproduce(trace, *options, code: int = 0) -> list[dict]:
    done = recorded.tool("reproduce", "--json", trace, *options)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""
    (shown,) = json.loads(done.stdout)["traces"]
    return shown["replays"]


def final_releases(trace, step: int) -> list[tuple[int, int]]:
    """Bytes before each final release of a step, and at the next operator."""
    return recorded.query(
        trace,
        "SELECT bytes, bytes_settled FROM mark WHERE kind = 'release' AND flags LIKE '%final%'"
        " AND from_seq BETWEEN (SELECT from_seq FROM mark WHERE kind = 'step' AND value = ?)"
        " AND (SELECT to_seq FROM mark WHERE kind = 'step' AND value = ?) ORDER BY from_seq",
        step,
        step,
    )
