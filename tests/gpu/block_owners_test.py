"""Every live block belongs to a storage or to a named other owner."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "cuda_training.py"
STEPS = 3
OWNERS = {"cuBLAS workspace", "cuBLASLt workspace"}


def kinds(folder, point: str) -> dict[str, int]:
    shown = recorded.tool("show", "live", folder, "--at", point, "--by", "kind", "--json")
    assert shown.returncode == 0, shown.stderr
    (trace,) = json.loads(shown.stdout)["traces"]
    return {group["name"]: group["bytes"] for group in trace["by_kind"]}


@pytest.mark.parametrize("model", ["gpt", "gpt_compiled", "resnet"])
def test_at_every_step(model, tmp_path):
    recorded.record(tmp_path / "run", PROGRAM, model, STEPS, detail="full", timeout=400)
    (trace,) = recorded.traces(tmp_path / "run")
    # The storage is alive at that time, too.
    strays = recorded.query(
        trace,
        "SELECT step.value, b.bytes, s.id FROM mark step"
        " JOIN block b ON b.from_seq <= step.to_seq AND (b.to_seq IS NULL OR b.to_seq > step.to_seq)"
        " LEFT JOIN storage s ON s.id = b.storage"
        "  AND s.from_seq <= step.to_seq AND (s.to_seq IS NULL OR s.to_seq > step.to_seq)"
        " WHERE step.kind = 'step' AND b.gpu = 0 AND s.id IS NULL AND b.owner IS NULL",
    )
    assert strays == []
    for step in range(STEPS):
        seen = kinds(tmp_path / "run", f"step:{step}")
        assert seen.keys() <= {"tensor"} | OWNERS, seen
        assert seen["tensor"] > 0
    if model != "resnet":
        assert "cuBLAS workspace" in seen or "cuBLASLt workspace" in seen
