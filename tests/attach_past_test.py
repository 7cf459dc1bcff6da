"""The memory that a program had before it was attached to."""

from __future__ import annotations

import json
import pathlib

import pytest

import recorded
from attached import NOTES, PROGRAM, assert_alive, by_import, counted, done, training
from proc import until


def ended(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    (folder / "end").touch()
    return folder


# Storages loaded after the attach, in a program that puts itself in standby: every begin has its end.
LOADED = "SELECT count(*), count(to_seq) FROM block WHERE bytes = 777216 AND id > (SELECT value FROM meta WHERE key = 'first_seq')"


@pytest.mark.parametrize("detail", recorded.some(["full", "lifetimes"], 2))
def test_what_was_there_before(tmp_path, detail):
    loads = {"ATTACHED_LOADS": str(recorded.BUILD / "lib" / "tests" / "libdcmt_late_extension.so")}
    with training(tmp_path / "program", 12, 3, 4, **loads, **by_import()) as program:
        (program.folder / "count").touch()
        program.at(3)
        attached = program.attach(tmp_path / "trace", "--detail", detail)
        program.go(3)
        program.at(4)
        # From then on, old and new storages are distinguished.
        until(lambda: "before" in str(recorded.query(*recorded.traces(tmp_path / "trace"), NOTES)))
        program.go(4)
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        assert program.hooks() == []
        program.end()
    (trace,) = recorded.traces(tmp_path / "trace")
    assert_alive(trace, counted(program), detail)
    assert recorded.query(trace, LOADED) == [(30, 30)]
    # The same program recorded from its start: the same peak, at the same step.
    environment = recorded.environment(**loads)
    recorded.record(tmp_path / "whole", PROGRAM, ended(tmp_path / "again"), 12, detail=detail, env=environment)
    (whole,) = recorded.traces(tmp_path / "whole")
    assert recorded.peak_of(trace) == recorded.peak_of(whole)
    (report,) = recorded.report(tmp_path / "trace")
    text = json.dumps(report["findings"])
    assert "trainer.kept" in text
    # Storages from before the attach are held by the same list.
    kept = "SELECT count(DISTINCT s.id) FROM storage s JOIN owner o ON o.storage = s.id JOIN string t ON t.id = o.path WHERE t.text LIKE '%trainer.kept[%' AND s.id < ?"
    (first,) = recorded.query(trace, "SELECT value FROM meta WHERE key = 'first_seq'")
    assert recorded.query(trace, kept, int(first[0])) == [(3,)]


@recorded.for_soak
def test_a_program_that_does_not_wait(tmp_path):
    """Storages begin and end while the hooks are written, and while the earlier memory is read."""
    with training(tmp_path / "program", 400, 3) as program:
        (program.folder / "count").touch()
        program.at(3)
        program.go(3)
        attached = program.attach(tmp_path / "trace")
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        program.end()
    (trace,) = recorded.traces(tmp_path / "trace")
    # Events between the first hook and the begin of the recording do not come from a forked child.
    assert not [text for (text,) in recorded.query(trace, NOTES) if "forked" in text]
    assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'step'")[0][0] > 10
    assert_alive(trace, counted(program), "lifetimes")


OPEN_CYCLE = """
import pathlib, sys, time
import torch
import dc_memtrace

folder = pathlib.Path(sys.argv[1])
parameter = torch.zeros(100_000)
dc_memtrace.gather(1, parameter)
(folder / "at-3").touch()
while not (folder / "go-3").exists():
    time.sleep(0.002)
for cycle in range(2):
    alias = parameter
    dc_memtrace.release(1)  # something holds it still
    torch.zeros(100_000)
    parameter = torch.zeros(100_000)
    if cycle == 0:
        dc_memtrace.gather(1, parameter)
(folder / "at-end").touch()
time.sleep(60)
"""


def test_a_cycle_that_was_open_is_not_judged(tmp_path):
    script = tmp_path / "cycles.py"
    script.write_text(OPEN_CYCLE)
    with training(tmp_path / "program", 0, program=script) as program:
        program.at(3)
        attached = program.attach(tmp_path / "trace")
        program.go(3)
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
    first, second = recorded.releases(tmp_path / "trace")
    assert second["verdict"] == "never"
    assert first["verdict"] not in ("never", "late", "freed", "early"), first
