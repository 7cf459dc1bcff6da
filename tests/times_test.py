"""What begins together and what ends together has one time; what the program does in between has another."""

from __future__ import annotations

import pytest
import recorded

APART_NS = 50_000_000
TOGETHER_NS = 5_000_000  # another chunk's clock may come in between
PROGRAM = f"""
import time
import torch

def pause():
    time.sleep(2 * {APART_NS} / 1e9)

whole = torch.empty(1 << 20)
pause()
view = whole.data
pause()
del whole
pause()
del view
pause()
torch.empty(1 << 20)
"""
BYTES = 4 << 20


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_ends_of_tensor_storage_and_block_are_one_moment(tmp_path, detail):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    recorded.record(tmp_path / "out", program, detail=detail)
    (trace,) = recorded.traces(tmp_path / "out")
    blocks = recorded.query(
        trace, "SELECT id, storage, from_ns, to_ns FROM block WHERE bytes = ? ORDER BY from_seq", BYTES
    )
    assert len(blocks) == 2
    (_, storage, begin, end), (_, _, next_begin, _) = blocks
    ((storage_end,),) = recorded.query(trace, "SELECT to_ns FROM storage WHERE id = ?", storage)
    whole, view = recorded.query(
        trace, "SELECT from_ns, to_ns FROM tensor WHERE storage = ? ORDER BY from_seq", storage
    )
    assert whole[0] - begin <= TOGETHER_NS
    assert begin + APART_NS < view[0]
    assert view[0] + APART_NS < whole[1]
    assert whole[1] + APART_NS < view[1]
    assert max(view[1], storage_end, end) - min(view[1], storage_end, end) <= TOGETHER_NS
    assert end + APART_NS < next_begin
