"""Events that begin together or end together have one time; work in between has another time."""

from __future__ import annotations

import json

import pytest
import recorded

ERROR_NS = 5_000_000  # another chunk's clock may be used in between
# Prints the times between which each line ran.
PROGRAM = """
import json, time
import torch

times = []

def now():
    time.sleep(0.05)
    times.append(time.monotonic_ns())
    time.sleep(0.05)

now()
whole = torch.empty(1 << 20)
now()
view = whole.data
now()
del whole
now()
del view
now()
torch.empty(1 << 20)
now()
print(json.dumps(times))
"""
BYTES = 4 << 20


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_ends_of_tensor_storage_and_block_have_one_time(tmp_path, detail):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    times = json.loads(recorded.record(tmp_path / "out", script, detail=detail).stdout)
    (trace,) = recorded.traces(tmp_path / "out")

    def is_at(line: int, *found: int) -> bool:
        return all(times[line] - ERROR_NS <= each <= times[line + 1] + ERROR_NS for each in found)

    makes, views, drops_whole, drops_view, makes_again = range(5)
    blocks = recorded.query(
        trace, "SELECT id, storage, from_ns, to_ns FROM block WHERE bytes = ? ORDER BY from_seq", BYTES
    )
    assert len(blocks) == 2
    (_, storage, begin, end), (_, _, next_begin, _) = blocks
    ((storage_end,),) = recorded.query(trace, "SELECT to_ns FROM storage WHERE id = ?", storage)
    tensors = recorded.query(
        trace, "SELECT from_ns, to_ns FROM tensor WHERE storage = ? ORDER BY from_seq", storage
    )
    assert is_at(makes, begin, tensors[0][0])
    assert is_at(drops_whole, tensors[0][1])
    assert is_at(drops_view, end, storage_end)
    assert is_at(makes_again, next_begin)
    if detail == "lifetimes":
        assert len(tensors) == 1, "views are followed on gathered storages only"
    else:
        assert is_at(views, tensors[1][0])
        assert is_at(drops_view, max(tensor_end for _, tensor_end in tensors))
