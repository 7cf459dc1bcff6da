"""FSDP2 on two GPUs: its cycles are recognised, none is called residual, and no number changes."""

from __future__ import annotations

import collections
import json

import pytest
import recorded

pytestmark = pytest.mark.multigpu
LAUNCH = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", recorded.PROGRAMS / "fsdp2.py"]
MODEL = [6, 1024, "cuda"]


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_cycles_numbers_and_peak(detail, tmp_path):
    said, plain = tmp_path / "said.json", tmp_path / "plain.json"
    recorded.record(tmp_path / "out", *LAUNCH, said, *MODEL, detail=detail)
    assert recorded.python(*LAUNCH, plain, *MODEL).returncode == 0
    truth = json.loads(said.read_text())
    assert truth == json.loads(plain.read_text())

    rank0 = tmp_path / "out" / "rank0.dcmt"
    (trace,) = recorded.report(rank0)
    assert trace["findings"] == []
    assert trace["peak"]["bytes"] == truth["peak"]
    shown = recorded.tool("show", "releases", "--json", rank0)
    (rows,) = [t["releases"] for t in json.loads(shown.stdout)["traces"]]
    assert {row["verdict"] for row in rows} == {"freed"}
    names = dict(recorded.query(rank0, "SELECT key, text FROM parameter JOIN string ON string.id = name"))
    freed = collections.defaultdict(list)
    for row in rows:
        freed[names[row["key"]["key"]]].append(row["bytes_before"])
    # In `lifetimes` a small buffer is followed once it has shrunk.
    small = 1 if detail == "lifetimes" else 0
    expected = {name: sizes[small:] if sizes[0] < 65_536 else sizes for name, sizes in truth["freed"].items()}
    assert len(expected) == 12 and dict(freed) == expected
    ranks = recorded.tool("show", "ranks", tmp_path / "out")
    assert ranks.returncode == 0, ranks.stderr
