"""`with dc_memtrace.record(...)`, snapshot(), holders() and peak(), in a program's own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import recorded
from attached import NOTES, by_import, hooks_in

PROGRAM = recorded.PROGRAMS / "recorded_blocks.py"
BLOCKS = int(os.environ.get("DCMT_RECORD_BLOCKS", "6"))


def environment() -> dict[str, str]:
    return recorded.environment(PATH=by_import()["PATH"])


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """What it says of itself, its folder, and what is hooked in it after its last block."""
    folder = tmp_path_factory.mktemp("program")
    process = subprocess.Popen(
        [sys.executable, PROGRAM, folder, str(BLOCKS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    line = process.stdout.readline()
    hooks = hooks_in(process.pid) if line else []
    _, error = process.communicate("")
    assert process.returncode == 0, error
    assert error == ""
    return json.loads(line), folder, hooks


def test_a_block(program):
    said, folder, hooks = program
    assert [said["recorded before"], said["recorded inside"], said["recorded after"]] == [False, True, False]
    assert hooks == []
    (trace,) = recorded.traces(folder / "whole")
    assert said["whole"]["trace"] == trace.name
    meta = recorded.meta(trace)
    assert (meta["state"], meta["exit"], meta["lost_deaths"]) == ("finished", "still running", 0)
    # 1,200,000 B were there; 800,000 B came, they went, and 400,000 B came and went.
    assert said["whole"]["peak"] == {"cpu": 2_000_000} == {"cpu": recorded.peak_of(trace)}
    assert said["counted inside"] == {"cpu/allocated_bytes": 800_000, "cpu/peak_allocated_bytes": 2_000_000}
    rows = "SELECT bytes, id < (SELECT value FROM meta WHERE key = 'first_seq'), to_seq IS NOT NULL FROM block ORDER BY id"
    assert recorded.query(trace, rows) == [(1_200_000, 1, 1), (800_000, 0, 0), (400_000, 0, 1)]
    assert recorded.query(trace, "SELECT s.text FROM mark m JOIN string s ON s.id = m.name WHERE m.name IS NOT NULL")[0] == ("work",)
    assert recorded.query(trace, "SELECT value FROM mark WHERE kind = 'step'") == [(0,)]
    (report,) = recorded.report(folder / "whole")
    assert report["facts"]["sequence_gaps"] == 0


def test_a_block_that_raises(program):
    said, folder, _ = program
    (trace,) = recorded.traces(folder / "raises")
    assert recorded.meta(trace)["state"] == "finished"
    assert said["raises"] == {"cpu": 1_600_000}
    # They were asked for, where no GPU is used.
    assert "kernels are seen from" in (notes := str(recorded.query(trace, NOTES))) or "kernels are not seen" in notes
    assert "kernels" not in str(recorded.query(*recorded.traces(folder / "whole"), NOTES))


def test_blocks_that_cannot_be_recorded(program):
    said, folder, _ = program
    assert said["inner"] == "this process is recorded already"
    assert said["used"].endswith("/whole holds a run already; choose another folder, or replace=True")
    assert said["detail"] == "detail is one of lifetimes, full, operators, not 'everything'"
    assert "serves one block" in said["twice"]
    assert "does not wait for requests: if it is a forked child" in (folder / "forked").read_text()


def test_without_torch_or_program(tmp_path):
    script = f"import dc_memtrace\nwith dc_memtrace.record({str(tmp_path / 'out')!r}): pass"
    for path, why in ((environment()["PATH"], "has not loaded torch yet"), ("/usr/bin", "neither installed with this Python")):
        result = recorded.python("-c", script, env={**environment(), "PATH": path})
        assert result.returncode == 1
        assert why in result.stderr.splitlines()[-1]


def test_one_block_after_another_leaves_nothing(program):
    said, _, _ = program
    assert said["peaks"] == [True] * BLOCKS
    after = said["figures"]
    for name in ("threads", "descriptors"):
        assert len({each[name] for each in after}) == 1, after
    settled = after[len(after) // 3 :]
    grown = {name: settled[-1][name] - settled[0][name] for name in settled[0]}
    assert grown["mappings"] <= 8 and grown["resident KiB"] <= 2048 and grown["objects"] <= 100, grown


def test_holders(program):
    said, _, _ = program
    assert said["holders"] == ["main.kept"]
    assert said["snapshot"] == [said["kept"]]
    assert said["no tensor"] == "TypeError: list is no torch.Tensor"
    for name in ("no memory", "meta"):
        assert said[name] == "ValueError: the tensor has no memory of its own"


def test_peak(program):
    said, _, _ = program
    assert set(said["peak"]) == {"process/resident_bytes", "process/peak_resident_bytes"}
    assert abs(said["peak"]["process/peak_resident_bytes"] - said["ru_maxrss"]) <= 1 << 20
    assert 0 < said["peak"]["process/resident_bytes"] <= said["peak"]["process/peak_resident_bytes"]
