"""Page-locked memory is blocks of the CPU with an owner, as large as torch's cache makes them."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "pinned_memory.py"
BYTES = {"padded": 4 << 20, "whole": 1 << 20, "odd": 1 << 17, "small": 1024}
ALIVE = {"all": set(BYTES), "less": {"padded", "odd"}, "one": {"odd"}, "again": {"padded", "odd"}, "emptied": {"odd"}}


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_blocks_begin_and_end_with_the_program(detail, tmp_path):
    printed = json.loads(recorded.record(tmp_path / "run", PROGRAM, detail=detail).stdout)
    assert sum(BYTES.values()) == printed["counted"], "the program's premise: torch rounds up to powers of two"
    assert printed["again"] == printed["addresses"]["padded"], "the program's premise: torch hands it out again"
    (trace,) = recorded.traces(tmp_path / "run")
    names = {address: name for name, address in printed["addresses"].items()}
    for mark, alive in ALIVE.items():
        blocks = recorded.query(
            trace,
            "SELECT b.address, b.bytes, b.device, s.id FROM mark m JOIN string ON string.id = m.name"
            " JOIN block b ON b.from_seq < m.from_seq AND (b.to_seq IS NULL OR b.to_seq > m.from_seq)"
            " JOIN string o ON o.id = b.owner LEFT JOIN storage s ON s.id = b.storage"
            " WHERE m.kind = 'user' AND string.text = ? AND o.text = 'pinned host memory'",
            mark,
        )
        followed = alive if detail == "full" else alive - {"small"}
        assert {names[address]: size for address, size, _, _ in blocks} == {name: BYTES[name] for name in followed}
        assert all(device == "cpu" and storage for _, _, device, storage in blocks)
    shown = recorded.tool("show", "live", tmp_path / "run", "--at", "less", "--device", "cpu", "--json")
    (answer,) = json.loads(shown.stdout)["traces"]
    (group,) = (group for group in answer["by_kind"] if group["name"] == "pinned host memory")
    assert group["bytes"] == BYTES["padded"] + BYTES["odd"]


def test_small_ones_are_in_the_sum(tmp_path):
    recorded.record(tmp_path / "run", PROGRAM)
    (trace,) = recorded.traces(tmp_path / "run")
    at = {
        name: bytes
        for name, bytes in recorded.query(
            trace,
            "SELECT text, (SELECT bytes FROM allocated a WHERE device = 'cpu' AND a.seq < m.from_seq ORDER BY seq DESC"
            " LIMIT 1) FROM mark m JOIN string ON string.id = m.name WHERE kind = 'user'",
        )
    }
    assert at["all"] - at["less"] == BYTES["whole"] + BYTES["small"]
    assert at["less"] - at["one"] == BYTES["padded"] == at["again"] - at["one"]
