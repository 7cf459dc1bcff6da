"""Attaching to a program whose torch keeps the history of its allocations: blocks from before have their stacks from there."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
import recorded
from attached import NOTES, places_of
from proc import until

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "attached_history.py"
MOST = 64


@pytest.mark.parametrize("stacks", ["python", "all"])
def test_stacks_are_those_of_torch(tmp_path, stacks):
    folder = tmp_path / "program"
    folder.mkdir()
    process = subprocess.Popen([sys.executable, PROGRAM, folder, stacks], stdout=subprocess.PIPE, text=True, env=recorded.environment())
    try:
        until(lambda: (folder / "blocks").exists() or process.poll() is not None)
        for number in range(3):  # again: code objects have other names in each
            trace = tmp_path / f"trace{number}"
            result = recorded.tool("attach", process.pid, "-q", "--duration", "2s", "--detail", ("full", "lifetimes")[number % 2], "-o", trace)
            assert result.returncode == 0, result.stderr
        (folder / "end").touch()
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "ended\n")
    finally:
        process.kill()
        process.wait()
    # C++ frames, which torch lists as well, are not recorded.
    listed = {
        address: [(file, line) for file, line in places if pathlib.Path(file).suffix == ".py"]
        for address, _, places in json.loads((folder / "blocks").read_text())
    }
    assert sum(bool(places) for places in listed.values()) >= 6
    for number in range(3):
        (trace,) = recorded.traces(tmp_path / f"trace{number}")
        first = int(recorded.meta(trace)["first_seq"])
        rows = recorded.query(trace, "SELECT address, bytes, stack, storage FROM block WHERE device = 'cuda:0' AND id < ?", first)
        found = {address: places_of(trace, stack) for address, bytes, stack, _ in rows if address in listed and bytes >= 1 << 16}
        assert len(found) >= 7
        for address, places in found.items():
            assert places == listed[address][:MOST], hex(address)
        assert any(len(places) == MOST for places in found.values()), "those that go on"
        assert any(places and pathlib.Path(places[0][0]).name == "made.py" for places in found.values())
        (early,) = [stack for address, bytes, stack, _ in rows if bytes == 14 << 20]
        assert early is None, "from before torch kept it"
        for _, _, stack, storage in rows:
            if storage is not None:
                assert recorded.query(trace, "SELECT stack FROM storage WHERE id = ?", storage) == [(stack,)]
        assert "from torch's own history" in str(recorded.query(trace, NOTES))
