"""A job killed at any time leaves a trace that opens, with nothing lost that was published.

DCMT_KILL_RUNS is how often one is killed at a random time (3). For each five of these one more is
killed in backward, and one more while a thread changes chunks, at two points.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import proc
import pytest
import recorded
from proc import until

RUNS = int(os.environ.get("DCMT_KILL_RUNS", "2"))
FORCED_RUNS = (RUNS + 4) // 5
RECORDER_RUNS = int(os.environ.get("DCMT_KILL_RUNS", "2"))
PROGRAM = recorded.PROGRAMS / "endless_training.py"


def start(folder: pathlib.Path, *options: str) -> subprocess.Popen:
    return subprocess.Popen(
        [recorded.TOOL, "run", "-o", folder, *options, "--", sys.executable, PROGRAM],
        env=recorded.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def job_of(run: subprocess.Popen) -> int:
    """The pid of the job. The program prints it once it is training."""
    return int(run.stdout.readline())


def check_complete(trace: pathlib.Path) -> None:
    assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
    meta = recorded.meta(trace)
    threads = recorded.query(trace, "SELECT count(*) FROM thread")[0][0]
    lost = dict(recorded.query(trace, "SELECT reason, sum(count) FROM loss GROUP BY reason"))
    # Sequences of a thread that was killed before its record was complete: at most those of one record.
    assert lost.pop("in_flight", 0) <= 3 * threads
    assert not lost
    assert meta["records"] + dict(recorded.query(trace, "SELECT reason, sum(count) FROM loss GROUP BY reason")).get(
        "in_flight", 0
    ) == meta["last_seq"]


@pytest.mark.parametrize("attempt", range(RUNS))
def test_killed_at_a_random_point(tmp_path, attempt):
    delay = random.Random(attempt).uniform(0.0, 1.5)
    with start(tmp_path / "out", "--detail", "full") as run:
        job = job_of(run)
        time.sleep(delay)
        os.kill(job, signal.SIGKILL)
        assert run.wait(60) == 128 + signal.SIGKILL
    (trace,) = recorded.traces(tmp_path / "out")
    check_complete(trace)
    assert recorded.meta(trace)["exit"] == f"signal {signal.SIGKILL:d}"
    assert recorded.tool("report", trace).returncode == 0


class Counted:
    """A C++ program with four threads. It counts its storages in a file that outlives it, until it is asked to end."""

    THREADS = 4
    started: list[Counted] = []

    def __init__(self, folder: pathlib.Path, *options: str, before: tuple[str, ...] = (), **environment: str):
        self.file, self.folder = folder / "counters", folder / "out"
        self.file.write_bytes(bytes(32 * self.THREADS + 16))
        self.run = subprocess.Popen(
            [*before, recorded.TOOL, "run", "-q", "-o", self.folder, "--detail", "full", *options, "--"]
            + [recorded.BUILD / "bin" / "libtorch_counted", self.file, str(self.THREADS)],
            env=recorded.environment(**environment),
        )
        self.started.append(self)

    def counters(self) -> list[tuple[int, int, int, int]]:
        """By thread: storages made and ended, whether it is in backward, and the bytes of its storages."""
        return list(struct.iter_unpack("<4Q", self.file.read_bytes()[:-16]))

    def wish(self, number: int) -> None:
        with self.file.open("r+b") as file:
            file.seek(32 * self.THREADS + 8 * number)
            file.write(struct.pack("<Q", 1))

    def end(self) -> None:
        self.wish(0)

    def stay_in_backward(self) -> None:
        self.wish(1)

    def wait_until(self, condition) -> None:
        until(lambda: condition(self.counters()) or self.run.poll() is not None)
        assert self.run.poll() is None

    def is_under_way(self) -> None:
        self.wait_until(lambda counters: any(made for made, *_ in counters))

    def job(self) -> int:
        """The child of the tool that runs another program. The other children help the tool (docs/decisions/spool.md, start.md)."""
        tool = os.readlink(f"/proc/{self.run.pid}/exe")
        (pid,) = [child for child, program in proc.children(self.run.pid).items() if program != tool]
        return pid

    def check(self) -> None:
        """The trace contains everything that the program had counted, and at most the storages that each thread was working on."""
        (trace,) = recorded.traces(self.folder)
        check_complete(trace)
        for made, ended, _, size in self.counters():
            ((births, live),) = recorded.query(
                trace, "SELECT count(*), coalesce(sum(to_seq IS NULL), 0) FROM storage WHERE bytes = ?", size
            )
            assert 0 <= births - made <= 1
            assert 0 <= births - live - ended <= 1


@pytest.fixture(autouse=True)
def ended_programs():
    """Cleans up after a test that failed, too."""
    yield
    while Counted.started:
        Counted.started.pop().end()


@pytest.mark.parametrize("attempt", range(RUNS))
def test_what_the_program_counted_is_in_the_trace(tmp_path, attempt):
    program = Counted(tmp_path)
    program.is_under_way()
    time.sleep(random.Random(attempt).uniform(0.0, 1.0))
    os.kill(program.job(), signal.SIGKILL)
    assert program.run.wait(60) == 128 + signal.SIGKILL
    program.check()


@pytest.mark.parametrize("attempt", range(FORCED_RUNS))
def test_killed_in_backward(tmp_path, attempt):
    program = Counted(tmp_path)
    program.is_under_way()
    time.sleep(random.Random(attempt).uniform(0.0, 0.5))
    program.stay_in_backward()
    program.wait_until(lambda counters: all(in_backward for _, _, in_backward, _ in counters))
    os.kill(program.job(), signal.SIGKILL)
    assert program.run.wait(60) == 128 + signal.SIGKILL
    program.check()


@pytest.mark.parametrize("point", ["closed", "taken"])
@pytest.mark.parametrize("attempt", range(FORCED_RUNS))
def test_killed_while_a_thread_changes_chunks(tmp_path, attempt, point):
    switch = random.Random(attempt).randint(1, 40)
    program = Counted(tmp_path, DC_MEMTRACE_TEST_KILL_AT_CHUNK=f"{point}:{switch}")
    assert program.run.wait(60) == 128 + signal.SIGKILL
    program.check()


BLOCK_ALLOC_IN_NODE = 46  #: a record with three sequences


def used_chunks(spool: pathlib.Path) -> int:
    """The number of chunks that are not free. The state is the first number in a row of the table."""
    data = spool.read_bytes()
    (chunks,) = struct.unpack_from("<I", data, 12)
    return sum(struct.unpack_from("<I", data, 4096 + chunk * 64)[0] != 0 for chunk in range(chunks))


def published_sequences(spool: pathlib.Path) -> int:
    """The highest published sequence in a spool, read here according to trace/spool/README.md."""
    data = spool.read_bytes()
    chunks, chunk_bytes = struct.unpack_from("<IQ", data, 12)
    first = (4096 + chunks * 64 + 4095) & ~4095
    highest = 0
    for chunk in range(chunks):
        committed = struct.unpack_from("<I", data, 4096 + chunk * 64 + 8)[0]
        position = first + chunk * chunk_bytes
        end = position + committed
        while position < end:
            kind, words, _, seq = struct.unpack_from("<HHIQ", data, position)
            highest = max(highest, seq + (2 if kind == BLOCK_ALLOC_IN_NODE else 0))
            position += words * 8
    return highest


def test_a_killed_recorder_is_continued_by_report(tmp_path):
    folder = tmp_path / "out"
    with start(folder) as run:
        job = job_of(run)
        until(lambda: recorded.begun(folder))
        time.sleep(0.7)
        run.kill()
        run.wait()
        state = recorded.json.loads((folder / "run.json").read_text())
        (spool,) = pathlib.Path(state["spool_folder"]).glob("*.spool")

        busy = recorded.tool("report", folder)
        assert busy.returncode == 0 and f"{job} still runs" in busy.stderr
        curve = recorded.tool("show", "curve", folder)
        assert curve.returncode == 0 and "it is not finished" in curve.stdout

        time.sleep(0.3)
        os.kill(job, signal.SIGKILL)
        while proc.is_running(job):
            time.sleep(0.02)
    published = published_sequences(spool)
    assert recorded.tool("report", folder).returncode == 0
    (trace,) = recorded.traces(folder)
    check_complete(trace)
    assert recorded.meta(trace)["state"] == "recovered"
    assert recorded.meta(trace)["last_seq"] == published
    peak = recorded.query(trace, "SELECT bytes, seq FROM allocated ORDER BY bytes DESC, seq LIMIT 1")
    assert recorded.query(trace, "SELECT highest, highest_seq FROM pyramid ORDER BY level DESC LIMIT 1") == peak
    assert not spool.exists()


@pytest.fixture(name="orphans")
def adopted_orphans():
    """Children whose parent dies become children of this process."""
    set_child_subreaper, libc = 36, ctypes.CDLL(None)
    libc.prctl(set_child_subreaper, 1, 0, 0, 0)
    yield
    libc.prctl(set_child_subreaper, 0, 0, 0, 0)


def ends_of_orphans() -> dict[int, int]:
    """Waits for all of them. Returns their exit statuses by pid."""
    ends = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, 0)
            ends[pid] = status
    return ends


@pytest.mark.parametrize("attempt", range(RECORDER_RUNS))
def test_the_recorder_is_killed_at_a_random_point(tmp_path, attempt, orphans):
    """The job runs to its end, and everything that it counted is in the trace that report finishes."""
    program = Counted(tmp_path, "--spool-mib", "256")  # enough for everything that comes without a recorder
    if attempt % 2 == 0:
        program.is_under_way()
    time.sleep(random.Random(attempt).uniform(0.0, 1.0))
    job = None
    with contextlib.suppress(ValueError, *proc.GONE):
        job = program.job()
    program.run.kill()
    program.run.wait()
    program.end()
    ends = ends_of_orphans()
    assert job is None or ends[job] == 0
    if not any(made for made, *_ in program.counters()):
        return  # it was killed before it had started the job
    reported = recorded.tool("report", program.folder)
    assert reported.returncode == 0 and reported.stderr == ""
    program.check()


SMALL_SHARED_MEMORY = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64m none /dev/shm && exec "$@"', "sh")
CAN_MOUNT = subprocess.run([*SMALL_SHARED_MEMORY, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not CAN_MOUNT, reason="no right to mount here")
@pytest.mark.parametrize("killed", ["nobody", "the job", "the recorder", "both"])
def test_where_shared_memory_has_64_mib(tmp_path, killed, orphans):
    """As in a container: the spool is memory without a file. A keeper saves it if the recorder is killed."""
    program = Counted(tmp_path, before=SMALL_SHARED_MEMORY)
    program.is_under_way()
    job = program.job()
    state = recorded.json.loads((program.folder / "run.json").read_text())
    (spool,) = pathlib.Path(state["spool_folder"]).glob("*.spool")
    assert spool.is_symlink() and spool.parent.parent == program.folder
    # The job has only its own descriptors after the recorder has opened the spool.
    until(lambda: not any("memtrace" in file or ".spool" in file for file in proc.open_files(job)))
    if killed in ("the recorder", "both"):
        program.run.kill()
        program.run.wait()
    if killed in ("the job", "both"):
        os.kill(job, signal.SIGKILL)
    program.end()
    if killed in ("the recorder", "both"):
        assert os.waitpid(job, 0)[1] == (signal.SIGKILL if killed == "both" else 0)
        reported = recorded.tool("report", program.folder)
        assert reported.returncode == 0 and reported.stderr == ""
    else:
        assert program.run.wait(60) == (0 if killed == "nobody" else 128 + signal.SIGKILL)
    program.check()
    assert not spool.exists() and not spool.is_symlink()
    ends_of_orphans()  # the keeper ends, too


@pytest.fixture(name="interrupted", scope="module")
def interrupted_run(tmp_path_factory):
    """A run whose recorder was killed, and then its job: the folder as it was left, and the bytes of the spool."""
    folder = tmp_path_factory.mktemp("interrupted") / "out"
    # The job must not fill the spool before it is killed.
    with start(folder, "--spool-mib", "32", "--detail", "full") as run:
        job = job_of(run)
        until(lambda: recorded.begun(folder))
        time.sleep(0.7)
        run.kill()
        run.wait()
        spools = pathlib.Path(recorded.json.loads((folder / "run.json").read_text())["spool_folder"])
        (spool,) = spools.glob("*.spool")
        # More chunks than the damages below leave.
        until(lambda: used_chunks(spool) >= 8)
        os.kill(job, signal.SIGKILL)
        until(lambda: not proc.is_running(job))
    content = spool.read_bytes()
    shutil.rmtree(spools)
    return folder, spool.name, content


def left_behind(interrupted, folder: pathlib.Path, change=lambda content: content) -> pathlib.Path:
    """A copy of an interrupted run with a changed spool. Returns the spool's path."""
    before, name, content = interrupted
    shutil.copytree(before, folder)
    spools = folder / ".spool-abcdef"
    spools.mkdir(mode=0o700)
    (spools / name).write_bytes(change(content))
    state = recorded.json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(recorded.json.dumps(state | {"spool_folder": str(spools)}))
    return spools / name


def flipped(content: bytes, seed: int) -> bytes:
    """Changes 50 bytes in the header, the table of chunks and the first chunks."""
    rng, data = random.Random(seed), bytearray(content)
    for _ in range(50):
        data[rng.randrange(min(len(data), 400_000))] = rng.randrange(256)
    return bytes(data)


DAMAGES = {
    "half": lambda content: content[:300_000],
    "a tenth": lambda content: content[:100_000],
    "its header": lambda content: content[:4096],
    "nothing": lambda content: b"",
    "another magic": lambda content: b"X" + content[1:],
} | {f"flipped {seed}": (lambda content, seed=seed: flipped(content, seed)) for seed in range(RECORDER_RUNS)}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_spool_leaves_a_trace_that_can_be_read(interrupted, tmp_path, damage):
    folder = tmp_path / "out"
    spool = left_behind(interrupted, folder, DAMAGES[damage])
    first = recorded.tool("report", folder)
    assert first.returncode == 0, first.stderr
    again = recorded.tool("report", folder)
    assert again.returncode == 0 and again.stdout == first.stdout and again.stderr == ""
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
    assert recorded.meta(trace)["state"] == "recovered"
    if damage in ("half", "a tenth"):
        assert "could not be read" in first.stderr
        assert recorded.query(trace, "SELECT count(*) FROM diagnostic WHERE code = 'spool_damaged'") == [(1,)]
    if damage in ("its header", "another magic"):
        assert "the file is kept" in first.stderr and spool.exists()


def test_two_reports_at_once_finish_a_run_once(interrupted, tmp_path):
    folder = tmp_path / "out"
    left_behind(interrupted, folder)
    both = [
        subprocess.Popen([recorded.TOOL, "report", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    (first, second) = [(*report.communicate(timeout=60), report.returncode) for report in both]
    assert first == second and first[1:] == ("", 0)
    (trace,) = recorded.traces(folder)
    check_complete(trace)


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.mark.skipif(not CAN_MOUNT, reason="no right to mount here")
def test_an_interrupted_run_on_media_that_cannot_be_written(interrupted, tmp_path):
    folder = tmp_path / "out"
    left_behind(interrupted, folder)
    shown = subprocess.run(
        ["unshare", "-m", "sh", "-c", READ_ONLY, folder, recorded.TOOL, "report", folder], capture_output=True, text=True
    )
    assert shown.returncode == 0, shown.stderr
    assert "cannot be written to" in shown.stderr and shown.stderr.count("\n") == 1
    assert recorded.tool("report", folder).stderr == "", "nothing is lost for it"
    (trace,) = recorded.traces(folder)
    check_complete(trace)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_job_and_the_trace_is_finished(tmp_path, sent):
    with start(tmp_path / "out") as run:
        job_of(run)
        time.sleep(0.3)
        threading.Timer(0.0, run.send_signal, [sent]).start()
        # Python turns SIGINT into KeyboardInterrupt and then dies of the signal.
        assert run.wait(60) == 128 + sent
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.meta(trace)["state"] == "finished"
    check_complete(trace)
