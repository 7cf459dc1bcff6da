"""The folder of a run: which runs may record into it, and what --force removes."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys

import life_safety
import proc
import pytest
import recorded
from life_safety import LIFE, Going
from proc import until


def run(folder: pathlib.Path, *command: object, flags: tuple = (), **options) -> subprocess.CompletedProcess:
    return life_safety.watched(recorded.TOOL, "run", *flags, "-o", folder, "--", *command, **options)


def start(folder: pathlib.Path, *command: object, **more: str) -> subprocess.Popen:
    return subprocess.Popen(
        [recorded.TOOL, "run", "-o", folder, "--", *map(str, command)], env=recorded.environment(**more),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def start_recording(folder: pathlib.Path) -> Going:
    """A job whose trace has begun."""
    going = Going(folder)
    until(lambda: recorded.begun(folder))
    return going


def refused(result: subprocess.CompletedProcess, *words: str) -> None:
    assert (result.returncode, result.stdout) == (125, ""), result
    (line,) = result.stderr.splitlines()
    for word in words:
        assert word in line


def test_force_removes_the_files_of_the_run_alone(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("my.dcmt.bak", "notes.txt", "run-x.json"):
        (folder / name).write_text("keep")
    assert run(folder, LIFE, "make", 3).returncode == 0
    (first,) = recorded.traces(folder)
    assert run(folder, "echo", "hello", flags=("--force",)).stdout == "hello\n"
    assert not first.exists()
    assert sorted(file.name for file in folder.iterdir()) == ["my.dcmt.bak", "notes.txt", "run-x.json", "run.json"]


def test_a_trace_of_no_run_is_in_the_way(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "mine.dcmt").write_text("keep")
    for flags in ((), ("--force",)):
        refused(run(folder, "echo", "hello", flags=flags), "mine.dcmt")
    assert [file.name for file in folder.iterdir()] == ["mine.dcmt"]


def test_force_waits_for_the_command_to_be_found(tmp_path):
    folder = tmp_path / "out"
    run(folder, LIFE, "make", 3)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for command, code in (("no-such-program", 127), ("/no/such/program", 127), ("/etc/passwd", 126)):
        assert run(folder, command, flags=("--force",)).returncode == code
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert run(tmp_path / "new", "no-such-program").returncode == 127
    assert not (tmp_path / "new").exists()


def test_a_living_run_is_never_replaced(tmp_path):
    folder = tmp_path / "out"
    with start_recording(folder) as going:
        refused(run(folder, "true", flags=("--force",)), "is alive", "-o")
        going.run.kill()
        going.run.wait()
        refused(run(folder, "true", flags=("--force",)), str(going.job), "is alive")
    until(lambda: not proc.is_running(going.job))
    spools = pathlib.Path(json.loads((folder / "run.json").read_text())["spool_folder"])
    assert list(spools.glob("*.spool"))
    assert run(folder, "true", flags=("--force",)).returncode == 0
    assert not spools.exists() and recorded.traces(folder) == []


def test_runs_into_one_new_folder_at_once(tmp_path):
    """One run records, the others are refused by name. None fails for any other reason."""
    for attempt in range(3):
        folder = tmp_path / f"out{attempt}"
        end = tmp_path / f"end{attempt}"
        runs = [start(folder, "sh", "-c", f"echo ran; until [ -e {end} ]; do sleep 0.02; done") for _ in range(4)]
        until(lambda: sum(each.poll() is not None for each in runs) >= 3)
        end.touch()
        ends = [(each.communicate(timeout=life_safety.WATCHDOG), each.returncode) for each in runs]
        assert sorted((out, code) for (out, _), code in ends) == [("", 125)] * 3 + [("ran\n", 0)]
        assert all(str(folder) in err for (_, err), code in ends if code)


LAUNCHERS = {
    "openmpi": ("OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE": "3", "PMIX_NAMESPACE": "prterun-7@1"}),
    "hydra": ("PMI_RANK", {"PMI_SIZE": "3"}),
    "slurm": ("SLURM_PROCID", {"SLURM_NTASKS": "3", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}),
    "torchrun": ("RANK", {"WORLD_SIZE": "3", "TORCHELASTIC_RUN_ID": "none", "MASTER_PORT": "29500"}),
    "deepspeed": ("RANK", {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29501"}),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_of_a_launcher_share_a_folder(tmp_path, launcher):
    rank, more = LAUNCHERS[launcher]
    folder = tmp_path / "out"
    # Runs one after the other and at once have the same result. The last one begins after the others.
    runs = [start(folder, LIFE, "make", 3, **{rank: str(number)}, **more) for number in range(2)]
    runs.append(None)
    for number, each in enumerate(runs):
        each = each or start(folder, LIFE, "make", 3, **{rank: str(number)}, **more)
        assert each.communicate(timeout=life_safety.WATCHDOG) == ("3\n", "") and each.returncode == 0
    assert [trace.name for trace in recorded.traces(folder)] == ["rank0.dcmt", "rank1.dcmt", "rank2.dcmt"]
    assert {recorded.meta(trace)["world_size"] for trace in recorded.traces(folder)} == {3}
    again = run(folder, "true", env=recorded.environment(**{rank: "1"}, **more))
    refused(again, "already holds a run")
    # The first run of the next launch removes the old one, the others join it.
    for number in (1, 0):
        env = recorded.environment(**{rank: str(number)}, **more)
        assert run(folder, LIFE, "make", 3, flags=("--force",), env=env).returncode == 0
    assert [trace.name for trace in recorded.traces(folder)] == ["rank0.dcmt", "rank1.dcmt"]
    assert len(recorded.report(folder)) == 2


# Saves and exits when its job will be stopped soon, as Slurm says with --signal=USR1.
REQUEUED = """
import os, pathlib, signal, sys, time, torch
saved = pathlib.Path(sys.argv[1])
def save(*_):
    saved.write_text("saved")
    sys.exit(0)
signal.signal(signal.SIGUSR1, save)
again = saved.exists()
kept = torch.ones(60_000 if again else 50_000)
print("trains", flush=True)
while not again:
    time.sleep(0.01)
"""


# Whom the signal reaches, and whether the job has steps: two of four pairs have each of the values.
@pytest.mark.parametrize(
    "step, to_all",
    recorded.some([({}, False), ({}, True), ({"SLURM_STEP_ID": "0"}, True), ({"SLURM_STEP_ID": "0"}, False)], 2),
    ids=lambda value: {False: "recorder", True: "group"}[value] if isinstance(value, bool) else "step" if value else "batch",
)
def test_a_requeued_job_keeps_both_traces(tmp_path, step, to_all):
    """Slurm is simulated: by its variables, its signal, and a second start."""
    (tmp_path / "train.py").write_text(REQUEUED)
    folder = tmp_path / "out"
    job = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", **step}
    command = [recorded.TOOL, "run", "-o", folder, "--", sys.executable, tmp_path / "train.py", tmp_path / "saved"]
    for more in ({}, {"SLURM_RESTART_COUNT": "1"}):
        run = subprocess.Popen(
            list(map(str, command)), env=recorded.environment(**job, **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        assert run.stdout.readline() == "trains\n"
        if not more:
            (os.killpg if to_all else os.kill)(run.pid, signal.SIGUSR1)
        assert run.communicate(timeout=life_safety.WATCHDOG) == ("", "") and run.returncode == 0
    first, second = recorded.traces(folder)
    if step:
        assert {first.name, second.name} == {"rank0.dcmt", "rank0-2.dcmt"}
    sizes = {
        (recorded.meta(trace)["exit"], size)
        for trace in (first, second)
        for (size,) in recorded.query(trace, "SELECT bytes FROM block WHERE bytes >= 200000")
    }
    assert sizes == {("exit 0", 200_000), ("exit 0", 240_000)}
    assert len(recorded.report(folder)) == 2
    # The same start once more is another run of the job's script.
    again = subprocess.run(command, env=recorded.environment(**job, SLURM_RESTART_COUNT="1"), capture_output=True, text=True)
    refused(again, "already holds a run")


def test_planted_links_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("victim")
    folder = tmp_path / "out"
    folder.mkdir()
    names = ["run.json", "run.json.new", "run-2.json", ".probe", ".run.new", "rank0.dcmt-wal", "rank0.dcmt-shm"]
    for name in names:
        (folder / name).symlink_to(victim)
    assert run(folder, LIFE, "make", 3, env=recorded.environment(RANK="0")).returncode == 0
    assert victim.read_text() == "victim"
    assert all((folder / name).is_symlink() for name in names if not name.startswith("rank0"))


def test_nobody_else_may_read_what_is_recorded(tmp_path):
    old = os.umask(0)
    try:
        assert run(tmp_path / "out", LIFE, "make", 3).returncode == 0
    finally:
        os.umask(old)
    files = [*(tmp_path / "out").iterdir()]
    assert len(files) == 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_killed_recorder_leaves_no_claim(tmp_path):
    """Its recorder was killed, so whether the program was killed is unknown; that it ended properly is known."""
    folder = tmp_path / "out"
    with start_recording(folder) as going:
        going.run.kill()
        going.run.wait()
    until(lambda: not proc.is_running(going.job))
    report = recorded.tool("report", folder)
    said = report.stdout.replace(str(tmp_path), "")  # its name has the word, too
    assert "recovered" in said and "killed" not in said
    (trace,) = recorded.traces(folder)
    assert recorded.meta(trace)["exit"] == "exit unseen"
