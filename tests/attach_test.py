"""Records a running process: standby, attach, detach."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import recorded
from attached import NOTES, Training, assert_alive, counted, done, figures, training, untouched
from proc import until


def test_steps_in_the_middle(tmp_path):
    with training(tmp_path / "program", 12, 3, 9) as program:
        program.at(3)
        # The process is found by its mapping of the agent. No other library of ours is loaded before the attach.
        assert "libdcmt_torch" not in pathlib.Path(f"/proc/{program.pid}/maps").read_text()
        attached = program.attach(tmp_path / "trace")
        assert program.is_hooked()
        program.go(3)
        program.at(9)
        assert recorded.tool("detach", program.pid).returncode == 0
        assert program.hooks() == []
        done(attached)
        program.go(9)
        program.end()
    (trace,) = recorded.traces(tmp_path / "trace")
    assert recorded.meta(trace)["exit"] == "still running"
    assert recorded.meta(trace)["lost_deaths"] == 0
    assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]
    (report,) = recorded.report(tmp_path / "trace")
    assert report["facts"]["sequence_gaps"] == 0
    assert report["facts"]["steps"] == 6
    assert report["facts"]["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    stacks = recorded.query(trace, "SELECT count(*), count(stack) FROM storage WHERE NOT first_seen OR stack IS NOT NULL")
    assert stacks[0][0] == stacks[0][1] > 0


class Lasting(Training):
    """A training without an end that several tests attach to, one after another."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder, 0, ATTACHED_KEEPS="0")
        (self.folder / "count").touch()
        self.after: list[dict[str, int]] = []  # the training's figures after each recording

    def left(self, *, soon: bool = False) -> None:
        """Checks that nothing of a recording is left after its end."""
        if soon:
            until(lambda: not self.is_hooked())
        else:
            assert self.hooks() == []
        # The connection is closed after the answer was sent.
        until(lambda: not self.after or figures(self.pid)["descriptors"] == self.after[0]["descriptors"])
        self.after.append(figures(self.pid))


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    program = Lasting(tmp_path_factory.mktemp("lasting") / "program")
    try:
        # Only a running training is in its final state: the first step loads libraries and starts the threads of the
        # engine.
        until(lambda: (program.folder / "trains").exists())
        yield program
    finally:
        program.process.kill()
        program.process.wait()


@pytest.mark.parametrize("end", recorded.some(["steps", "duration", "interrupt"], 2))
def test_ends(tmp_path, lasting, end):
    flags = {"steps": ("--steps", 2), "duration": ("--duration", "500ms")}.get(end, ())
    attached = lasting.attach(tmp_path / "trace", *flags)
    if end == "interrupt":
        attached.send_signal(signal.SIGINT)
    done(attached)
    lasting.left()
    (trace,) = recorded.traces(tmp_path / "trace")
    meta = recorded.meta(trace)
    assert (meta["state"], meta["exit"], meta["lost_deaths"]) == ("finished", "still running", 0)
    assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]
    assert json.loads((tmp_path / "trace" / "run.json").read_text())["state"] == "finished"


def test_recorder_that_is_killed(tmp_path, lasting):
    attached = lasting.attach(tmp_path / "trace")
    assert lasting.is_hooked()
    until(lambda: recorded.begun(tmp_path / "trace"))
    attached.kill()
    attached.wait()
    lasting.left(soon=True)
    # Committed rows can be read.
    assert recorded.tool("report", tmp_path / "trace").returncode == 0


def test_refusals(tmp_path, lasting):
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert f"process {gone.pid} does not exist" in recorded.one_line(recorded.tool("attach", gone.pid), 4)
    plain = subprocess.Popen(["sleep", "60"])
    try:
        line = recorded.one_line(recorded.tool("attach", plain.pid), 4)
        assert f"process {plain.pid} (sleep) is not in standby, and has not imported torch: attach with --wait" in line
        line = recorded.one_line(recorded.tool("detach", plain.pid), 4)
        assert f"process {plain.pid} (sleep) is not recorded by attach: there is nothing to end" in line
    finally:
        plain.kill()
        plain.wait()
    assert "no recorder is attached" in recorded.one_line(recorded.tool("detach", lasting.pid), 4)
    attached = lasting.attach(tmp_path / "trace")
    line = recorded.one_line(recorded.tool("attach", lasting.pid, "-o", tmp_path / "other"), 4)
    assert f"attached to already, by process {attached.pid}" in line
    assert not list((tmp_path / "other").iterdir())
    if os.geteuid() == 0:
        line = recorded.one_line(recorded.tool("attach", lasting.pid, "-o", tmp_path / "other", user=65534), 4)
        assert "belongs to another user (uid 0)" in line
    recorded.tool("detach", lasting.pid)
    done(attached)
    lasting.left()


def test_kernels_where_no_gpu_is_used(tmp_path, lasting):
    """Each recording decides whether kernels are recorded. Without a GPU, one line says what is missing."""
    maps = pathlib.Path(f"/proc/{lasting.pid}/maps")
    has_cupti = "/libcupti.so" in maps.read_text()
    line = "the program uses no GPU so far" if has_cupti else "this torch was built without CUDA"
    for number, flags in enumerate([(), ("--kernels",), (), ("--kernels",)]):
        attached = lasting.attach(tmp_path / f"trace{number}", "--steps", 1, *flags)
        _, said = attached.communicate(timeout=120)
        assert attached.returncode == 0, said
        lasting.left()
        (trace,) = recorded.traces(tmp_path / f"trace{number}")
        notes = str(recorded.query(trace, NOTES))
        assert ("libdcmt_cuda" in maps.read_text()) == (has_cupti and number > 0), "it stays"
        if flags:
            assert len(said.splitlines()) == 1 and line in said and f"process {lasting.pid}" in said
            assert line in notes
        else:
            assert said == "" and "kernels" not in notes
        assert recorded.query(trace, "SELECT count(*) FROM launches") == [(0,)]
        assert recorded.query(trace, "SELECT count(*) FROM block")[0][0] > 0


CYCLES = int(os.environ.get("DCMT_ATTACH_CYCLES", "0"))


@pytest.mark.skipif(CYCLES == 0, reason="for scripts/soak: the tests above attach again and again")
def test_again_and_again(tmp_path, lasting):
    for cycle in range(CYCLES):
        detail = ("full", "lifetimes")[cycle % 2]
        attached = lasting.attach(tmp_path / f"trace{cycle}", "--detail", detail)
        time.sleep(0.3)
        started = time.monotonic()
        assert recorded.tool("detach", lasting.pid).returncode == 0, attached.communicate()
        assert time.monotonic() - started < 2
        done(attached)
        assert cycle % 5 != 0 or lasting.hooks() == []
        lasting.after.append(figures(lasting.pid))
        (trace,) = recorded.traces(tmp_path / f"trace{cycle}")
        assert recorded.meta(trace)["lost_deaths"] == 0
        assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]


def test_it_is_as_if_nobody_had_come(tmp_path, lasting):
    """Runs after all recordings of the tests above; the last one observes the end of the training."""
    attached = lasting.attach(tmp_path / "last")
    until(lambda: "before" in str(recorded.query(*recorded.traces(tmp_path / "last"), NOTES)))
    result = lasting.end()
    done(attached)
    (trace,) = recorded.traces(tmp_path / "last")
    assert recorded.meta(trace)["exit"] == "exit unseen"
    assert result == untouched(tmp_path / "plain", len(result["losses"]))
    for name in ("threads", "descriptors"):
        assert len({each[name] for each in lasting.after}) <= 1, lasting.after
    settled = lasting.after[len(lasting.after) // 3 :]
    grown = {name: settled[-1][name] - settled[0][name] for name in ("resident KiB", "space KiB", "mappings") if settled}
    assert not grown or (grown["resident KiB"] <= 4096 and grown["space KiB"] <= 8192 and grown["mappings"] <= 8), grown


# Its import of torch continues once FOLDER/go-import exists.
IMPORTING = """
import pathlib, sys, time

folder = pathlib.Path(sys.argv[1])

class Holds:
    def find_spec(self, name, path=None, target=None):
        while name == "torch.nn" and not (folder / "go-import").exists():
            time.sleep(0.002)

sys.meta_path.insert(0, Holds())
import torch

(folder / "imported").touch()
for _ in range(100):
    torch.zeros(100_000)
(folder / "at-end").touch()
while not (folder / "end").exists():
    time.sleep(0.002)
print("{}")
"""


def test_while_torch_is_imported(tmp_path):
    script = tmp_path / "importing.py"
    script.write_text(IMPORTING)
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    with training(tmp_path / "program", 0, program=script, XDG_RUNTIME_DIR=str(runtime)) as program:
        # From the first time that a socket answers.
        until(lambda: list(runtime.glob("dc-memtrace/*")))
        attached = program.ask(tmp_path / "trace")
        assert not (program.folder / "imported").exists()
        program.go("import")
        until(lambda: recorded.begun(tmp_path / "trace") or attached.poll() is not None)
        assert (program.folder / "imported").exists()
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        program.end()


WAITING = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
print("begins", flush=True)
while not (folder / "import").exists():
    time.sleep(0.01)
import torch
while not (folder / "end").exists():
    torch.zeros(100_000)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("start", [("run", "--standby", "--"), ()])
def test_that_waits_for_the_import(tmp_path, start):
    """Attaches to a program in standby, and to one without a library of ours."""
    command = [*([recorded.TOOL, *start] if start else []), sys.executable, "-c", WAITING, tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=recorded.environment())
    try:
        assert process.stdout.readline() == "begins\n"
        line = recorded.one_line(recorded.tool("attach", process.pid, "--wait", "--duration", "200ms", "-o", tmp_path / "none"), 4)
        assert "has not imported torch so far: attach when it has" in line
        attached = subprocess.Popen(
            [recorded.TOOL, "attach", str(process.pid), "--wait", "-o", tmp_path / "trace"], stderr=subprocess.PIPE, text=True,
            env=recorded.environment(),
        )  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            attached.wait(timeout=0.3)
        (tmp_path / "import").touch()
        until(lambda: recorded.traces(tmp_path / "trace") or attached.poll() is not None)
        until(lambda: attached.poll() is not None or recorded.tool("detach", process.pid).returncode == 0)
        done(attached)
        (trace,) = recorded.traces(tmp_path / "trace")
        assert recorded.meta(trace)["lost_deaths"] == 0
        (tmp_path / "end").touch()
        assert process.wait(timeout=60) == 0
        line = recorded.one_line(recorded.tool("attach", process.pid, "--wait"), 4)
        assert "does not exist" in line or "has ended" in line
    finally:
        process.kill()
        process.wait()
