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
    trace = recorded.trace_of_text(tmp_path, PROGRAM, detail)
    blocks = recorded.query(
        trace, "SELECT id, storage, from_ns, to_ns FROM block WHERE bytes = ? ORDER BY from_seq", BYTES
    )
    assert len(blocks) == 2
    (_, storage, begin, end), (_, _, next_begin, _) = blocks
    ((storage_end,),) = recorded.query(trace, "SELECT to_ns FROM storage WHERE id = ?", storage)
    tensors = recorded.query(
        trace, "SELECT from_ns, to_ns FROM tensor WHERE storage = ? ORDER BY from_seq", storage
    )
    whole = tensors[0]
    assert whole[0] - begin <= TOGETHER_NS
    assert begin + 2 * APART_NS < whole[1] < end - APART_NS
    assert end + APART_NS < next_begin
    last = max(tensor_end for _, tensor_end in tensors)
    if detail == "lifetimes":
        assert len(tensors) == 1, "views are followed on gathered storages only"
        last = storage_end
    else:
        assert begin + APART_NS < tensors[1][0] < whole[1] - APART_NS
    assert max(last, storage_end, end) - min(last, storage_end, end) <= TOGETHER_NS
