"""What a ledger counts on a GPU is what torch's allocator counts, also of blocks that are older than its recording."""

from __future__ import annotations

import pytest
import recorded
from attached import by_import

pytestmark = pytest.mark.gpu

# The allocator rounds each block up to 512 bytes, and so do the sizes here.
TESTS = """
import torch

OLDER = [torch.ones(1 << 20, device="cuda"), torch.ones(1 << 18, device="cuda")]


def test_phase(memory_ledger):
    kept = []
    before = torch.cuda.memory_allocated()
    with memory_ledger.phase("frees"):
        OLDER.clear()
        kept.append(torch.ones(1 << 17, device="cuda"))
    change = torch.cuda.memory_allocated() - before
    figures = memory_ledger.of("frees", "cuda:0")
    assert figures.freed == (1 << 22) + (1 << 20)
    assert figures.allocated == 1 << 19
    assert figures.net == change == figures.allocated - figures.freed
    assert len(kept) == 1
"""


def test_blocks_from_before_the_recording_are_counted_when_they_are_freed(tmp_path):
    (tmp_path / "test_older.py").write_text(TESTS)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "dc_memtrace.pytest_plugin", tmp_path)
    done = recorded.python(*command, env=recorded.environment(PATH=by_import()["PATH"]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
