"""A census counts a cell that many frames share once, however many variables it finds."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = """
import dc_memtrace, torch

def main(frames):
    kept = torch.ones(1 << 18)
    def inner(depth):
        name = kept
        if depth == 0:
            return dc_memtrace.census(name)
        return inner(depth - 1)
    inner(frames - 1)

main(20)
main(300)
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return recorded.trace_of_text(tmp_path_factory.mktemp("cells"), PROGRAM, "lifetimes")


@pytest.mark.parametrize("number, frames", [(0, 20), (1, 300)])
def test_a_shared_cell_is_one_reference(trace, number, frames):
    ((census,),) = recorded.query(trace, "SELECT id FROM mark WHERE kind = 'census' ORDER BY id LIMIT 1 OFFSET ?", number)
    of_census = "FROM edge e JOIN string s ON s.id = e.name WHERE e.census = ? GROUP BY s.text"
    names = dict(recorded.query(trace, f"SELECT s.text, count(*) {of_census}", census))
    assert (names["name"], names["kept"]) == (frames, 1)
    # Each variable, the cell, and the argument of census().
    counts = "SELECT count, explained, unexplained FROM sample WHERE subject = 'object' AND census = ?"
    assert recorded.query(trace, counts, census) == [(frames + 2, frames + 2, 0)]
