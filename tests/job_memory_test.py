"""The memory of a whole job, against counts of this test's own in /proc and in a control group."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

import control_groups
import proc
import recorded

PROGRAM = recorded.PROGRAMS / "job_memory.py"
MIB = 1 << 20
# The command of each kind, and how many processes say that they are ready.
KINDS = {"alone": 1, "workers": 1, "rank": 2, "shared": 3, "left": 1, "cache": 1, "server": 4}


def below(pid: int) -> list[int]:
    """A process and its descendants."""
    return [pid, *(each for child in proc.children(pid) for each in below(child))]


def shared_files(pids: list[int]) -> dict[tuple[int, int], int]:
    """The bytes of files in memory that the processes have open, and of those in /dev/shm, by identity."""
    files = {}
    for pid in pids:
        for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(*proc.GONE):
                if re.match(r"/dev/shm/|/memfd:", os.readlink(descriptor)):
                    status = descriptor.stat()
                    files[status.st_dev, status.st_ino] = status.st_blocks * 512
    for path in (path for pid in pids for path in pathlib.Path("/dev/shm").rglob(f"*{pid}*") if path.is_file()):
        files[path.stat().st_dev, path.stat().st_ino] = path.stat().st_blocks * 512
    return files


def count(pids: list[int]) -> int:
    """The bytes of these processes: PSS of memory that is no mapped file's, and what shared files have beyond what is
    mapped. Processes of other tests have the same libraries, so that the PSS of files changes with them."""
    total, mapped = 0, {}
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
            if begin := re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ (\w+):(\w+) (\d+)", line):
                file = os.makedev(int(begin[1], 16), int(begin[2], 16)), int(begin[3])
            elif line.startswith("Pss:"):
                mapped[file] = mapped.get(file, 0) + int(line.split()[1]) * 1024
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                total += int(line.split()[1]) * 1024
    return total + sum(max(0, size - mapped.get(file, 0)) for file, size in shared_files(pids).items())


@contextlib.contextmanager
def waiting(folder: pathlib.Path, kind: str, *arguments: object, group: pathlib.Path | None = None):
    """The recorder of a job that has all its memory."""
    launcher = [sys.executable, *(("-m", "torch.distributed.run", "--nproc-per-node", "2") if kind == "rank" else ())]
    command = [recorded.TOOL, "run", "-o", folder / "out", "--", *launcher, PROGRAM, kind, folder, *arguments]
    if group:
        command = control_groups.command_in(group, command)
    job = subprocess.Popen([*map(str, command)], env=recorded.environment(OMP_NUM_THREADS="1"), stderr=subprocess.PIPE,
                           text=True)
    try:
        proc.until(lambda: job.poll() is not None or len(list(folder.glob("ready.*"))) == KINDS[kind])
        assert job.poll() is None, job.stderr.read()
        yield job
    finally:
        (folder / "stop").touch()
        _, errors = job.communicate(timeout=100)
    assert job.returncode == 0, errors


def latest_sample(folder: pathlib.Path) -> int:
    """When the job's memory was sampled last."""
    return max((recorded.query(trace, "SELECT coalesce(max(ns), 0) FROM job")[0][0] for trace in recorded.begun(folder / "out")),
               default=0)


def job_of(folder: pathlib.Path) -> dict:
    result = recorded.tool("show", "memory", "--job", "--json", folder / "out")
    assert result.returncode == 0, result.stderr
    (view,) = json.loads(result.stdout)["traces"]
    for moment in (view["peak"], view["last"]):
        assert sum(part["bytes"] for part in moment["parts"]) == moment["bytes"]
    return view


def settled(folder: pathlib.Path, count_all) -> tuple[dict, int]:
    """A sample, and what was counted before it and after it: the recorder's own memory changes while it reads that of the job."""
    for _ in range(30):
        before, began = count_all(), time.monotonic_ns()
        proc.until(lambda: latest_sample(folder) > began)
        last, after = job_of(folder)["last"], count_all()
        if abs(after - before) <= 0.002 * before:
            return last, after
    raise AssertionError("the job's memory still changes")


def part(moment: dict, name: str) -> int:
    return sum(each["bytes"] for each in moment["parts"] if each["name"] == name)


def expect_near(found: int, counted: int) -> None:
    assert abs(found - counted) <= 0.02 * counted, (found / MIB, counted / MIB)


@pytest.mark.parametrize("kind", ["workers", "rank", "shared", "left", "server",
                                  *(pytest.param(kind, marks=recorded.for_soak) for kind in ("alone", "cache"))])
def test_the_sum_is_that_of_proc(tmp_path, kind):
    with waiting(tmp_path, kind, 2_000_000 if recorded.ALL else 300_000) as job:
        last, counted = settled(tmp_path, lambda: count(below(job.pid)))
        expect_near(last["bytes"] - part(last, "mapped_files"), counted)
        assert abs(part(last, "unexplained")) <= 0.02 * last["bytes"], last["parts"]
        beside = [each for each in proc.children(job.pid).values() if each == str(recorded.TOOL)]
        assert last["count"] == len(below(job.pid)) - 1 - len(beside), last["processes"]
    if kind == "workers":
        (forked,) = (each for each in last["processes"] if each["role"] == "forked")
        assert forked["processes"] == 4 and forked["name"] == "pt_data_worker"
    if kind == "rank":
        assert {each["rank"] for each in last["processes"] if each["rank"] is not None} == {0, 1}
    if kind == "shared":
        (tensors,) = (each for each in last["shared"] if each["kind"] == "tensors")
        assert tensors["bytes"] == 160 * MIB and tensors["segments"] == 2 and tensors["owner"] == "python"
        assert sum(each["bytes"] for each in last["shared"] if each["kind"] == "other") >= 30 * MIB
    if kind == "left":
        assert [each["bytes"] for each in last["shared"] if each["kind"] == "left"] == [64 * MIB]
    if kind == "server":
        forked = next(each for each in last["processes"] if each["role"] == "forked")
        assert forked["processes"] == 3
        assert any(each["role"] == "child" and each["anonymous_bytes"] >= 50 * MIB for each in last["processes"])


@pytest.mark.parametrize("kind", ["workers", "cache", *(pytest.param(kind, marks=recorded.for_soak)
                                                        for kind in ("alone", "rank", "shared", "left", "server"))])
def test_the_sum_is_that_of_the_control_group(tmp_path, kind):
    with control_groups.made() as group:
        with waiting(tmp_path, kind, 2_000_000 if recorded.ALL else 300_000, group=group):
            last, used = settled(tmp_path, lambda: control_groups.used(group))
        assert last["of_group"]
        expect_near(last["bytes"], used)
        assert abs(part(last, "unexplained")) <= 0.02 * last["bytes"], last["parts"]
        if kind == "cache":
            assert part(last, "page_cache") >= 190 * MIB and part(last, "mapped_files") >= 100 * MIB
    text = recorded.tool("show", "memory", "--job", tmp_path / "out").stdout
    assert "all that its control group used" in text


def test_the_report_has_a_line_if_there_are_several_processes(tmp_path):
    with waiting(tmp_path, "server") as job:
        settled(tmp_path, lambda: count(below(job.pid)))
    text = recorded.tool("report", tmp_path / "out").stdout
    assert re.search(r"^whole job +\d.* in 5 processes: ", text, re.MULTILINE), text
    shown = recorded.tool("show", "memory", "--job", tmp_path / "out").stdout
    assert "3 forked children of pid" in shown and "spools of dc-memtrace" in shown, shown
