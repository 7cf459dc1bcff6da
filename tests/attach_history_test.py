"""Attaching to a program whose torch keeps the history of its GPU's blocks: those from before have their stacks from there.

No GPU is needed: torch's allocator lists what the program has planted, and torch itself has gathered the stacks.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import recorded
from attached import NOTES, places_of
from proc import until

LIBRARY = recorded.BUILD / "lib" / "tests" / "libdcmt_test_history.so"
MOST = 64

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="this torch is built without CUDA")


def test_stacks_are_those_that_torch_has_gathered(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, recorded.PROGRAMS / "history" / "planted.py", folder, LIBRARY], stdout=subprocess.PIPE, text=True,
        env=recorded.environment(),
    )  # fmt: skip
    try:
        until(lambda: (folder / "blocks").exists() or process.poll() is not None)
        # Twice, because code objects have other names in each session.
        for detail in ("full", "lifetimes"):
            result = recorded.tool("attach", process.pid, "-q", "--duration", "1500ms", "--detail", detail, "-o", tmp_path / detail)
            assert result.returncode == 0, result.stderr
        (folder / "end").touch()
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out) == (0, "ended\n")
    planted = [(size, [tuple(place) for place in places[:MOST]]) for size, places in json.loads((folder / "blocks").read_text())]
    assert {len(places) for _, places in planted} >= {0, MOST}
    for detail in ("full", "lifetimes"):
        (trace,) = recorded.traces(tmp_path / detail)
        blocks = recorded.query(trace, "SELECT bytes, stack, from_seq FROM block WHERE device = 'cuda:0' ORDER BY address")
        assert [(size, places_of(trace, stack)) for size, stack, _ in blocks] == planted
        # The records that contain their stacks.
        assert all(seq < int(recorded.meta(trace)["first_seq"]) for _, _, seq in blocks)
        assert "only 6 of these have a stack, from torch's own history" in str(recorded.query(trace, NOTES))
