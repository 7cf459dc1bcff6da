"""A census counts a cell that many frames share once, however many variables it finds."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = """
import dc_memtrace, torch

def main():
    kept = torch.ones(1 << 18)
    def inner(depth):
        name = kept
        if depth == 0:
            return dc_memtrace.census(name)
        return inner(depth - 1)
    inner({frames} - 1)

main()
"""


@pytest.mark.parametrize("frames", [20, 300])
def test_a_shared_cell_is_one_reference(tmp_path, frames):
    trace = recorded.trace_of_text(tmp_path, PROGRAM.format(frames=frames), "lifetimes")
    names = dict(recorded.query(trace, "SELECT s.text, count(*) FROM edge e JOIN string s ON s.id = e.name GROUP BY s.text"))
    assert (names["name"], names["kept"]) == (frames, 1)
    # Each variable, the cell, and the argument of census().
    (counts,) = recorded.query(trace, "SELECT count, explained, unexplained FROM sample WHERE subject = 'object'")
    assert counts == (frames + 2, frames + 2, 0)
