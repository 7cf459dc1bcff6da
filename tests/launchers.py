"""Launchers, each really used: one trace for each of their two processes, and a report that names what one of them keeps.
They are recorded from their begin, or attached to.

Run by scripts/soak where DCMT_LAUNCHERS_PYTHON is a Python that has torch and some of accelerate, deepspeed and ray[train].
Launchers that it lacks are skipped.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess

import proc
import pytest
import recorded
from proc import until

PYTHON = os.environ["DCMT_LAUNCHERS_PYTHON"]
FOLDER = recorded.ROOT / "tests" / "launched"
LAUNCHERS = {
    "torchrun": ("torch", ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]),
    "accelerate": ("accelerate", ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
                                  "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]),
    "deepspeed": ("deepspeed", ["-m", "deepspeed.launcher.runner", "--num_gpus", "2"]),
}  # fmt: skip


# Completes the block of docs/howto.md, whose functions are those of its reader.
OLDER_CLUSTER = """
import sys, torch
kept = []
def train_one_epoch(rank):
    for _ in range(12):
        output = torch.randn(256, 256).relu()
        if rank == 1:
            kept.append(output)
ray.init(sys.argv[1], logging_level="ERROR")
trainers = [Trainer.remote() for _ in range(2)]
ray.get([trainer.train.remote(sys.argv[2], rank) for rank, trainer in enumerate(trainers)])
"""


def needs(module: str) -> None:
    if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
        pytest.skip(f"{PYTHON} cannot import {module}")


def environment(**more: str) -> dict[str, str]:
    # Workers of Ray have a low priority otherwise, and wait for everything else on the machine.
    ray = {"RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    path = f"{recorded.TOOL.parent}:{recorded.environment()['PATH']}"  # as where dc-memtrace is installed
    return recorded.environment(PATH=path, DS_ACCELERATOR="cpu", **ray, **more)


def run(folder, *command: object) -> None:
    result = recorded.tool("run", "-o", folder, "--", PYTHON, "-W", "ignore", *command, env=environment(), timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def holders(report: dict) -> list[str]:
    """What holds the memory of each finding."""
    return [(finding["growth"] or {}).get("holder", "") for finding in report["findings"]]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_each_rank_has_a_trace_and_the_report_names_what_one_keeps(launcher, tmp_path):
    module, command = LAUNCHERS[launcher]
    needs(module)
    folder = tmp_path / "out"
    run(folder, *command, FOLDER / f"{launcher}_ranks.py")
    assert [trace.name for trace in recorded.traces(folder)] == ["rank0.dcmt", "rank1.dcmt"]
    for rank, trace in enumerate(recorded.traces(folder)):
        assert (recorded.meta(trace)["rank"], recorded.meta(trace)["world_size"]) == (rank, 2)
    first, second = recorded.report(folder)
    assert holders(first) == []
    assert [holder for holder in holders(second) if "kept" in holder] != []
    assert "kept" in recorded.tool("report", folder).stdout


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_all_ranks_that_it_started_are_attached_to(launcher, tmp_path):
    module, command = LAUNCHERS[launcher]
    needs(module)
    (tmp_path / "pids").mkdir()
    job = subprocess.Popen(
        [PYTHON, "-W", "ignore", *command, FOLDER / f"{launcher}_ranks.py"], start_new_session=True,
        env=environment(LAUNCHED_FOLDER=str(tmp_path / "pids")), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: len(os.listdir(tmp_path / "pids")) == 2 or job.poll() is not None)
        pids = sorted(map(int, os.listdir(tmp_path / "pids")))
        result = recorded.tool("attach", pids[0], "--all-ranks", "--steps", 5, "-o", tmp_path / "out", timeout=300)
        assert result.returncode == 0, result.stderr
        assert job.poll() is None and [proc.state(pid) in "RSD" for pid in pids] == [True, True]
    finally:
        # Launchers start ranks in sessions of their own.
        for pid in (job.pid, *map(int, os.listdir(tmp_path / "pids"))):
            os.kill(pid, signal.SIGKILL)
        job.wait()
    assert [trace.name for trace in recorded.traces(tmp_path / "out")] == ["rank0.dcmt", "rank1.dcmt"]
    metas = [recorded.meta(trace) for trace in recorded.traces(tmp_path / "out")]
    assert [(meta["rank"], meta["world_size"], meta["state"], meta["exit"]) for meta in metas] == [
        (rank, 2, "finished", "still running") for rank in (0, 1)
    ]
    assert sorted(meta["pid"] for meta in metas) == pids
    first, second = recorded.report(tmp_path / "out")
    assert holders(first) == []
    assert "kept" in recorded.tool("show", "peak", "--by", "holder", second["path"]).stdout


@pytest.fixture
def cluster():
    """The address of a Ray that was started before, by nobody whom dc-memtrace records."""
    needs("ray")
    head = subprocess.Popen(
        [PYTHON, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", "0", "--num-cpus", "3",
         "--include-dashboard", "false"],
        env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said = ""
    while "until terminated" not in said:
        line = head.stdout.readline()
        assert line, said
        said += line
    yield re.search(r"--address='(.+)'", said)[1]
    head.terminate()
    head.communicate(timeout=60)


def test_workers_of_an_older_cluster_record_themselves_as_the_page_says(cluster, tmp_path):
    page = (recorded.ROOT / "docs" / "howto.md").read_text()
    (block,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "@ray.remote" in block)
    program = tmp_path / "program.py"
    program.write_text(f"{block}\n{OLDER_CLUSTER}")
    result = subprocess.run(
        [PYTHON, "-W", "ignore", program, cluster, tmp_path / "out"], env=environment(), capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    folders = sorted((tmp_path / "out").iterdir())
    assert [folder.name for folder in folders] == ["rank0", "rank1"]
    first, second = (recorded.peak_of(trace) for folder in folders for trace in recorded.traces(folder))
    assert first < second and second >= 12 << 18
    text = recorded.tool("show", "peak", "--by", "holder", folders[1]).stdout
    assert "kept" in text


def test_workers_of_an_older_cluster_are_not_recorded_by_run(cluster, tmp_path):
    result = recorded.tool(
        "run", "-o", tmp_path / "out", "--", PYTHON, "-W", "ignore", "-c", f"import ray; ray.init({cluster!r});"
        "ray.get(ray.remote(lambda: __import__('torch').ones(100_000).sum().item()).remote())",
        env=environment(), timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert recorded.traces(tmp_path / "out") == []
    assert "nothing was recorded" in result.stderr


def test_an_actor_of_ray_has_a_trace(tmp_path):
    needs("ray")
    folder = tmp_path / "out"
    run(folder, FOLDER / "ray_actors.py")
    reports = recorded.report(folder)
    assert len(reports) == 2
    assert sorted("kept" in " ".join(holders(report)) for report in reports) == [False, True]


def test_a_worker_of_ray_train_has_a_trace(tmp_path):
    needs("ray.train.torch")
    folder = tmp_path / "out"
    run(folder, FOLDER / "ray_train.py", tmp_path / "results")
    reports = recorded.report(folder)
    assert [report["rank"] for report in reports] == [0, 1]  # Ray gives them after the start of the processes
    assert ["kept" in " ".join(holders(report)) for report in reports] == [False, True]
