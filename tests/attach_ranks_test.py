"""The processes that are attached to: by name, all ranks of a launch; also `status`, and `doctor` of a process."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

import proc
import recorded
from attached import PROGRAM, done, training
from proc import until


def rank(number: int) -> dict[str, str]:
    """Environment variables as set by torchrun."""
    return {
        "RANK": str(number), "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "run", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500",
        "ATTACHED_KEEPS": "0",
    }  # fmt: skip


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    # Other tests start the program by its own name.
    program = pathlib.Path(shutil.copy(PROGRAM, folder / "training_of_ranks.py"))
    with contextlib.ExitStack() as stack:
        both = [
            stack.enter_context(training(folder / f"rank{number}", 0, program=program, **rank(number))) for number in (0, 1)
        ]
        for each in both:
            until(each.is_in_standby)
            until(lambda each=each: "libtorch_python" in open(f"/proc/{each.pid}/maps").read())
        yield both


def status() -> dict[int, dict]:
    result = recorded.tool("status", "--json")
    assert result.returncode == 0, result.stderr
    return {each["pid"]: each for each in json.loads(result.stdout)["processes"]}


def test_all_ranks(tmp_path, ranks):
    pids = [each.pid for each in ranks]
    there = status()
    assert [(there[pid]["rank"], there[pid]["state"], there[pid]["recorder"]) for pid in pids] == [(0, "idle", None), (1, "idle", None)]
    assert "training_of_ranks.py" in there[pids[0]]["command"]
    assert str(pids[1]) in recorded.tool("status").stdout

    line = recorded.one_line(recorded.tool("attach", "--name", "training_of_*", "-o", tmp_path / "one"), 4)
    assert "2 processes with torch are called training_of_*" in line and f"{pids[0]} (rank 0)" in line
    line = recorded.one_line(recorded.tool("attach", "--name", "absent.py", "-o", tmp_path / "one"), 4)
    assert "there is no process with torch called absent.py" in line
    line = recorded.one_line(recorded.tool("attach", "--name", "absent.py", "--only-standby", "-o", tmp_path / "one"), 4)
    assert "there is no process in standby called absent.py" in line

    attached = ranks[0].attach(tmp_path / "trace", "--all-ranks", "--steps", 2, "-q")
    until(lambda: len(recorded.begun(tmp_path / "trace")) == 2 or attached.poll() is not None)
    assert {status()[pid]["state"] for pid in pids} <= {"recorded", "begins", "idle"}
    done(attached)
    traces = recorded.traces(tmp_path / "trace")
    assert [each.name for each in traces] == ["rank0.dcmt", "rank1.dcmt"]
    for number, trace in enumerate(traces):
        meta = recorded.meta(trace)
        assert (meta["state"], meta["exit"], meta["rank"], meta["world_size"]) == ("finished", "still running", number, 2)
        assert (int(meta["pid"]), meta["lost_deaths"]) == (pids[number], 0)
        assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'step' AND to_seq IS NOT NULL")[0][0] >= 3
    for each in ranks:
        assert each.hooks() == []
    assert [status()[pid]["recordings"] for pid in pids] == [1, 1]


@pytest.mark.skipif(not recorded.ALL, reason="a third program: for scripts/soak")
def test_one_of_several_that_ends(tmp_path, ranks):
    """The other ranks continue to be recorded."""
    with training(tmp_path / "third", 8, 3, **rank(2)) as third:
        third.at(3)
        attached = ranks[0].attach(tmp_path / "trace", "--all-ranks")
        until(lambda: len(recorded.begun(tmp_path / "trace")) == 3)
        third.go(3)
        third.at("end")
        third.end()
        assert attached.poll() is None
        attached.send_signal(signal.SIGINT)
        done(attached)
    exits = {each.name: recorded.meta(each)["exit"] for each in recorded.traces(tmp_path / "trace")}
    assert exits == {"rank0.dcmt": "still running", "rank1.dcmt": "still running", "rank2.dcmt": "exit unseen"}


def test_one_that_is_recorded_already(tmp_path, ranks):
    """Then none of them is attached to."""
    attached = ranks[1].attach(tmp_path / "trace")
    assert status()[ranks[1].pid]["recorder"] == attached.pid
    line = recorded.one_line(recorded.tool("attach", ranks[0].pid, "--all-ranks", "-o", tmp_path / "other"), 4)
    assert f"attached to already, by process {attached.pid}" in line
    assert not list((tmp_path / "other").iterdir())
    until(lambda: not ranks[0].is_hooked())
    diagnosis, code = doctor(ranks[1].pid)
    assert code == 4 and diagnosis["standby"]["found"] == f"it is recorded already, by process {attached.pid}"
    recorded.tool("detach", ranks[1].pid)
    done(attached)


def doctor(pid: int) -> tuple[dict[str, dict], int]:
    result = recorded.tool("doctor", pid, "--json")
    document = json.loads(result.stdout)
    assert document["can_attach"] == (result.returncode == 0)
    return {each["name"]: each for each in document["checks"]}, result.returncode


def test_doctor(ranks):
    checks, code = doctor(ranks[0].pid)
    assert code == 0
    assert {name: each["ok"] for name, each in checks.items()} == dict.fromkeys(("process", "standby", "torch", "memory"), True)
    assert checks["process"]["found"].endswith("runs, rank 0 of 2")
    os.kill(ranks[0].pid, signal.SIGSTOP)
    try:
        until(lambda: proc.state(ranks[0].pid) == "T")
        checks, code = doctor(ranks[0].pid)
        assert code == 4 and checks["process"]["fix"] == f"let it go on: kill -CONT {ranks[0].pid}"
        # Reported at once, not after a time limit.
        line = recorded.one_line(recorded.tool("attach", ranks[0].pid), 4)
        assert "is stopped" in line and "busy" not in line
    finally:
        os.kill(ranks[0].pid, signal.SIGCONT)
    plain = subprocess.Popen(["sleep", "60"])
    try:
        checks, code = doctor(plain.pid)
        assert code == 4 and "is not in standby, and has not imported torch" in checks["standby"]["found"]
        assert "run --standby" in recorded.tool("doctor", plain.pid).stdout
    finally:
        plain.kill()
        plain.wait()
    checks, code = doctor(plain.pid)
    assert code == 4 and checks["process"]["found"] == f"process {plain.pid} does not exist"


def test_arguments():
    assert recorded.tool("attach").returncode == 2
    assert recorded.tool("attach", "12", "--name", "x").returncode == 2
