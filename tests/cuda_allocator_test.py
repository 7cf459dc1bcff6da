"""The CUDA allocator in use can be determined without a GPU: torch decides when its libraries are loaded."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import recorded

TORCH = pathlib.Path(importlib.util.find_spec("torch").origin).parent
PROGRAM = ("-c", "import torch; torch.ones(3).add_(1)")

pytestmark = pytest.mark.skipif(
    not (TORCH / "lib" / "libc10_cuda.so").exists(), reason="this torch is built without CUDA"
)


def notes(folder, conf: str) -> list[str]:
    recorded.record(folder, *PROGRAM, env=recorded.environment(PYTORCH_CUDA_ALLOC_CONF=conf), detail="full")
    (trace,) = recorded.traces(folder)
    return [
        text
        for (text,) in recorded.query(
            trace, "SELECT s.text FROM diagnostic d JOIN string s ON s.id = d.text WHERE d.code = 'provider_off'"
        )
    ]


def test_one_that_reports_nothing_is_named_once(tmp_path):
    (note,) = notes(tmp_path / "run", "backend:cudaMallocAsync")
    assert "'cudaMallocAsync' is not supported" in note
    assert note in recorded.tool("report", tmp_path / "run").stdout


def test_the_native_one_needs_no_word(tmp_path):
    assert notes(tmp_path / "run", "expandable_segments:True") == []
