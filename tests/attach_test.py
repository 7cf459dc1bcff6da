"""Recording a process that runs: standby, attach, detach."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import numpy
import pytest

import recorded

PROGRAM = recorded.PROGRAMS / "attached_training.py"
NOTES = "SELECT t.text FROM diagnostic d JOIN string t ON t.id = d.text"

STANDBY = (recorded.TOOL, "run", "--standby", "--")


def until(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it has not come to that"
        time.sleep(0.01)


class Training:
    """The program in standby, stopped before each of `holds`."""

    def __init__(self, folder: pathlib.Path, steps: int, *holds: int, program: pathlib.Path = PROGRAM, start=STANDBY, **more: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.process = subprocess.Popen(
            [*start, sys.executable, program, folder, str(steps), *map(str, holds)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=recorded.environment(**more),
        )  # fmt: skip
        self.pid = self.process.pid

    def at(self, step: int | str) -> None:
        until(lambda: (self.folder / f"at-{step}").exists() or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read()

    def go(self, step: int) -> None:
        (self.folder / f"go-{step}").touch()

    def end(self) -> dict:
        (self.folder / "end").touch()
        out, error = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, error
        return json.loads(out)

    def attach(self, trace: pathlib.Path, *flags: object) -> subprocess.Popen:
        """Returns once the process is recorded."""
        attached = subprocess.Popen(
            [recorded.TOOL, "attach", str(self.pid), "-o", trace, *map(str, flags)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=recorded.environment(),
        )  # fmt: skip
        until(lambda: recorded.traces(trace) or attached.poll() is not None)
        return attached

    def hooks(self) -> list[str]:
        """Words of the program's memory, but for what lies in ours, that have an address in a provider.

        The program's own extension, which a test loads, is none: the loader's data has its addresses.
        """
        ranges = []
        for line in pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            low, high = (int(each, 16) for each in fields[0].split("-"))
            ranges.append((low, high, fields[1], fields[5] if len(fields) > 5 else ""))
        no_provider = ("agent", "/tests/")
        ours = [
            each for each in ranges
            if "/libdcmt_" in each[3] and "x" in each[2] and not any(part in each[3] for part in no_provider)
        ]  # fmt: skip
        hooks = []
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            for low, high, mode, path in ranges:
                if not mode.startswith("r") or not path.startswith("/") or "dcmt" in path or "x" in mode:
                    continue
                with contextlib.suppress(OSError):
                    memory.seek(low)
                    words = numpy.frombuffer(memory.read(high - low), dtype=numpy.uint64)
                    for begin, end, _, provider in ours:
                        for at in numpy.flatnonzero((words >= begin) & (words < end)):
                            target = f"{pathlib.Path(provider).name}+{int(words[at]) - begin:#x}"
                            hooks.append(f"{path} {mode} {low + 8 * int(at):#x}: {target}")
        return hooks

    def is_hooked(self) -> bool:
        return bool(self.hooks())


@contextlib.contextmanager
def training(folder: pathlib.Path, steps: int, *holds: int, **more):
    program = Training(folder, steps, *holds, **more)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.wait()


def untouched(folder: pathlib.Path, steps: int) -> dict:
    folder.mkdir()
    (folder / "end").touch()
    result = recorded.python(PROGRAM, folder, steps)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def done(attached: subprocess.Popen) -> None:
    _, error = attached.communicate(timeout=120)
    assert attached.returncode == 0, error


def test_steps_in_the_middle(tmp_path):
    plain = untouched(tmp_path / "plain", 12)
    with training(tmp_path / "program", 12, 3, 9) as program:
        program.at(3)
        # The process is found by its mapping of the agent; nothing else is there before the attach.
        assert "libdcmt_torch" not in pathlib.Path(f"/proc/{program.pid}/maps").read_text()
        attached = program.attach(tmp_path / "trace")
        assert program.is_hooked()
        program.go(3)
        program.at(9)
        started = time.monotonic()
        assert recorded.tool("detach", program.pid).returncode == 0
        assert time.monotonic() - started < 2
        assert program.hooks() == []
        done(attached)
        program.go(9)
        assert program.end() == plain
    (trace,) = recorded.traces(tmp_path / "trace")
    assert recorded.meta(trace)["exit"] == "still running"
    assert recorded.meta(trace)["lost_deaths"] == 0
    assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]
    (report,) = recorded.report(tmp_path / "trace")
    assert report["facts"]["sequence_gaps"] == 0
    assert report["facts"]["steps"] == 6
    assert report["facts"]["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert "trainer.kept" in json.dumps(report["findings"])
    stacks = recorded.query(trace, "SELECT count(*), count(stack) FROM storage WHERE NOT first_seen OR stack IS NOT NULL")
    assert stacks[0][0] == stacks[0][1] > 0


@pytest.mark.parametrize("end", recorded.some(["steps", "duration", "interrupt", "exit"], 2))
def test_ends(tmp_path, end):
    flags = {"steps": ("--steps", 2), "duration": ("--duration", "500ms")}.get(end, ())
    with training(tmp_path / "program", 30, 3) as program:
        program.at(3)
        attached = program.attach(tmp_path / "trace", *flags)
        program.go(3)
        program.at("end")
        if end == "interrupt":
            attached.send_signal(signal.SIGINT)
        if end == "exit":
            program.end()
        done(attached)
        if end != "exit":
            assert program.hooks() == []
            program.end()
    (trace,) = recorded.traces(tmp_path / "trace")
    meta = recorded.meta(trace)
    assert meta["state"] == "finished"
    assert meta["exit"] == ("exit unseen" if end == "exit" else "still running")
    assert json.loads((tmp_path / "trace" / "run.json").read_text())["state"] == "finished"


def test_recorder_that_is_killed(tmp_path):
    with training(tmp_path / "program", 10, 3) as program:
        program.at(3)
        attached = program.attach(tmp_path / "trace")
        assert program.is_hooked()
        attached.kill()
        attached.wait()
        until(lambda: not program.is_hooked(), seconds=1)
        program.go(3)
        program.at("end")
        program.end()
    # What was committed is there.
    assert recorded.tool("report", tmp_path / "trace").returncode == 0


def test_refusals(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert f"process {gone.pid} does not exist" in recorded.one_line(recorded.tool("attach", gone.pid), 4)
    plain = subprocess.Popen(["sleep", "60"])
    try:
        for verb in ("attach", "detach"):
            line = recorded.one_line(recorded.tool(verb, plain.pid), 4)
            assert f"process {plain.pid} (sleep) is not in standby" in line
    finally:
        plain.kill()
        plain.wait()
    with training(tmp_path / "program", 4, 3) as program:
        program.at(3)
        assert "nobody is attached" in recorded.one_line(recorded.tool("detach", program.pid), 4)
        attached = program.attach(tmp_path / "trace")
        line = recorded.one_line(recorded.tool("attach", program.pid, "-o", tmp_path / "other"), 4)
        assert f"attached to already, by process {attached.pid}" in line
        assert not list((tmp_path / "other").iterdir())
        if os.geteuid() == 0:
            line = recorded.one_line(recorded.tool("attach", program.pid, "-o", tmp_path / "other", user=65534), 4)
            assert "belongs to another user (uid 0)" in line
        recorded.tool("detach", program.pid)
        done(attached)


def standby_thread(pid: int) -> pathlib.Path:
    (task,) = (each for each in pathlib.Path(f"/proc/{pid}/task").iterdir() if (each / "comm").read_text() == "dcmt-standby\n")
    return task


def test_idle_standby(tmp_path):
    with training(tmp_path / "program", 4, 3) as program:
        program.at(3)
        task = standby_thread(program.pid)
        switches = lambda: re.findall(r"ctxt_switches:\s*(\d+)", (task / "status").read_text())  # noqa: E731
        before = switches()
        time.sleep(1)
        assert switches() == before
        # What it has in memory: the agent, and the stack of the thread.
        resident = 0
        for each in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{program.pid}/smaps").read_text()):
            if "libdcmt_" in each.split("\n")[0]:
                resident += int(re.search(r"Rss:\s*(\d+)", each)[1])
        assert 0 < resident <= 1024
        assert re.search(r"SigBlk:\s*f{7}[0-9a-f]+", (task / "status").read_text())


def test_sockets_are_private(tmp_path):
    runtime = tmp_path / "runtime"
    long = runtime / ("long" * 40)
    for folder in (runtime, long):
        folder.mkdir(mode=0o700)
    with training(tmp_path / "program", 4, 3, XDG_RUNTIME_DIR=str(long)) as program:
        program.at(3)
        (path,) = (long / "dc-memtrace").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        done(program.attach(tmp_path / "trace", "--duration", "100ms"))
    # A folder of another kind is not used: no socket, and the program does not notice.
    for number, mode in enumerate((0o755, None)):
        folder = tmp_path / f"foreign{number}"
        folder.mkdir()
        if mode is None:
            (folder / "dc-memtrace").symlink_to(long / "dc-memtrace")
        else:
            (folder / "dc-memtrace").mkdir()
            (folder / "dc-memtrace").chmod(mode)
        with training(tmp_path / f"program{number}", 4, 3, XDG_RUNTIME_DIR=str(folder)) as program:
            program.at(3)
            assert "not in standby" in recorded.one_line(recorded.tool("attach", program.pid), 4)
            program.go(3)
            program.end()


def test_forked_children_close_the_socket(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, pathlib, sys, time\nimport torch\n"
        "child = os.fork()\n"
        "pathlib.Path(sys.argv[1], 'child' if child == 0 else 'parent').write_text(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([recorded.TOOL, "run", "--standby", "--", sys.executable, script, tmp_path], env=recorded.environment())
    try:
        until(lambda: all((tmp_path / each).exists() and (tmp_path / each).read_text() for each in ("child", "parent")))
        child = int((tmp_path / "child").read_text())
        links = [os.readlink(each) for each in pathlib.Path(f"/proc/{child}/fd").iterdir()]
        assert not [each for each in links if each.startswith("socket:")]
        assert "not in standby" in recorded.one_line(recorded.tool("attach", child), 4)
    finally:
        parent.kill()
        parent.wait()
        with contextlib.suppress(OSError, UnboundLocalError):
            os.kill(child, signal.SIGKILL)


def counted(program: Training) -> dict[int, int]:
    """What the program itself found alive, as address and bytes."""
    return {address: bytes for address, bytes in json.loads((program.folder / "counted").read_text())}


def by_import() -> dict:
    """How a program is started that puts itself in standby."""
    path = os.pathsep.join([str(recorded.TOOL.parent), recorded.environment()["PATH"]])
    return {"start": (), "ATTACHED_IMPORTS": "1", "PATH": path}


def assert_alive(trace: pathlib.Path, own: dict[int, int], detail: str) -> None:
    smallest = 64 << 10 if detail == "lifetimes" else 1
    large = {address: bytes for address, bytes in own.items() if bytes >= smallest}
    rows = recorded.query(trace, "SELECT address, bytes FROM block WHERE to_seq IS NULL AND bytes >= ?", smallest)
    assert dict(rows) == large and len(rows) == len(large)
    storages = "FROM storage s JOIN block b ON b.storage = s.id WHERE s.to_seq IS NULL AND s.bytes >= ?"
    assert dict(recorded.query(trace, f"SELECT b.address, s.bytes {storages}", smallest)) == large
    # With those that are in sums only, torch's own figure.
    assert recorded.query(trace, "SELECT sum(bytes) FROM block WHERE to_seq IS NULL") == [(sum(own.values()),)]
    assert recorded.meta(trace)["lost_deaths"] == 0


@pytest.mark.parametrize("detail", recorded.some(["lifetimes", "full"], 2))
def test_what_was_there_before(tmp_path, detail):
    with training(tmp_path / "program", 12, 3, 4) as program:
        (program.folder / "count").touch()
        program.at(3)
        attached = program.attach(tmp_path / "trace", "--detail", detail)
        program.go(3)
        program.at(4)
        # What came before and what comes now are told apart by then.
        until(lambda: "before" in str(recorded.query(*recorded.traces(tmp_path / "trace"), NOTES)))
        program.go(4)
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        program.end()
    (trace,) = recorded.traces(tmp_path / "trace")
    assert_alive(trace, counted(program), detail)
    # The same program from its start: the same peak, at the same step.
    recorded.record(tmp_path / "whole", PROGRAM, ended(tmp_path / "again"), 12, detail=detail)
    (whole,) = recorded.traces(tmp_path / "whole")
    assert recorded.peak_of(trace) == recorded.peak_of(whole)
    (report,) = recorded.report(tmp_path / "trace")
    text = json.dumps(report["findings"])
    assert "trainer.kept" in text
    # What it kept before the attach is held by the same list.
    kept = "SELECT count(DISTINCT s.id) FROM storage s JOIN owner o ON o.storage = s.id JOIN string t ON t.id = o.path WHERE t.text LIKE '%trainer.kept[%' AND s.id < ?"
    (first,) = recorded.query(trace, "SELECT value FROM meta WHERE key = 'first_seq'")
    assert recorded.query(trace, kept, int(first[0])) == [(3,)]


def ended(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    (folder / "end").touch()
    return folder


def test_a_program_that_does_not_wait(tmp_path):
    """Storages begin and end while what was there before is read."""
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


def figures(pid: int) -> dict[str, int]:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {
        "threads": int(re.search(r"Threads:\s*(\d+)", status)[1]),
        "resident KiB": int(re.search(r"VmRSS:\s*(\d+)", status)[1]),
        "space KiB": int(re.search(r"VmSize:\s*(\d+)", status)[1]),
        "descriptors": len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())),
        "mappings": len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()),
    }


CYCLES = int(os.environ.get("DCMT_ATTACH_CYCLES", "5"))


def test_again_and_again(tmp_path):
    steps = 30 * CYCLES
    with training(tmp_path / "program", steps, 3, ATTACHED_KEEPS="0") as program:
        (program.folder / "count").touch()
        program.at(3)
        program.go(3)
        after = []
        for cycle in range(CYCLES):
            detail = ("lifetimes", "full")[cycle % 2]
            attached = program.attach(tmp_path / f"trace{cycle}", "--detail", detail)
            time.sleep(0.3)
            started = time.monotonic()
            assert recorded.tool("detach", program.pid).returncode == 0, attached.communicate()
            assert time.monotonic() - started < 2
            done(attached)
            assert cycle % 5 != 0 or program.hooks() == []
            after.append(figures(program.pid))
            (trace,) = recorded.traces(tmp_path / f"trace{cycle}")
            assert recorded.meta(trace)["lost_deaths"] == 0
            assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]
        program.at("end")
        # Once more at the end: all that is alive is from before.
        attached = program.attach(tmp_path / "last")
        until(lambda: "before" in str(recorded.query(*recorded.traces(tmp_path / "last"), NOTES)))
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        assert_alive(*recorded.traces(tmp_path / "last"), counted(program), "lifetimes")
        result = program.end()
    assert result == untouched(tmp_path / "plain", steps)
    for name in ("threads", "descriptors"):
        assert len({each[name] for each in after}) == 1, after
    settled = after[CYCLES // 3 :]
    grown = {name: settled[-1][name] - settled[0][name] for name in ("resident KiB", "space KiB", "mappings")}
    assert grown["resident KiB"] <= 4096 and grown["space KiB"] <= 8192 and grown["mappings"] <= 8, grown


IMPORTING = """
import pathlib, sys, time

import torch

folder = pathlib.Path(sys.argv[1])
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
        # From the first moment that there is somebody to ask.
        until(lambda: list(runtime.glob("dc-memtrace/*")))
        assert not (program.folder / "imported").exists()
        attached = program.attach(tmp_path / "trace")
        assert (program.folder / "imported").exists()
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        program.end()


def test_a_program_that_puts_itself_in_standby(tmp_path):
    library = recorded.BUILD / "lib" / "tests" / "libdcmt_late_extension.so"
    with training(tmp_path / "program", 8, 3, ATTACHED_LOADS=str(library), **by_import()) as program:
        (program.folder / "count").touch()
        program.at(3)
        assert "LD_PRELOAD" not in os.environ
        attached = program.attach(tmp_path / "trace")
        until(lambda: "before" in str(recorded.query(*recorded.traces(tmp_path / "trace"), NOTES)))
        program.go(3)
        program.at("end")
        assert recorded.tool("detach", program.pid).returncode == 0
        done(attached)
        assert program.hooks() == []
        program.end()
    (trace,) = recorded.traces(tmp_path / "trace")
    assert_alive(trace, counted(program), "lifetimes")
    # Of what was loaded after the attach: every begin has its end.
    ended = "SELECT count(*), count(to_seq) FROM block WHERE bytes = 777216 AND id > (SELECT value FROM meta WHERE key = 'first_seq')"
    assert recorded.query(trace, ended) == [(30, 30)]


def test_no_dc_memtrace_to_be_found(tmp_path):
    result = recorded.python("-W", "always", "-c", "import dc_memtrace.standby", env=recorded.environment(PATH="/usr/bin"))
    assert result.returncode == 0
    assert "neither installed with this Python nor on PATH" in result.stderr


BUSY = """
import torch
torch.set_num_threads(1)
layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
print("runs", flush=True)
while True:
    layer(torch.ones(8, 64)).sum().backward()
    optimizer.step()
"""


def test_a_busy_program_is_no_forked_child(tmp_path):
    """It makes tensors between the first hook and the beginning of the recording."""
    process = subprocess.Popen([*STANDBY, sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True, env=recorded.environment())
    try:
        assert process.stdout.readline() == "runs\n"
        attached = recorded.tool("attach", process.pid, "-o", tmp_path / "out", "--steps", "3", "-q")
        assert attached.returncode == 0, attached.stderr
        notes = [text for (text,) in recorded.query(recorded.traces(tmp_path / "out")[0], NOTES)]
        assert not [text for text in notes if "forked" in text]
    finally:
        process.kill()


def ask(path: pathlib.Path, message: bytes) -> bytes:
    """What the process answers; nothing if it closes the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        connection.send(message)
        with contextlib.suppress(ConnectionError):
            return connection.recv(4096)
    return b""


def test_strangers_on_the_socket(tmp_path):
    runtime = pathlib.Path(tempfile.mkdtemp())  # an address has room for 107 bytes
    try:
        with training(tmp_path / "program", 4, 3, XDG_RUNTIME_DIR=str(runtime)) as program:
            program.at(3)
            path = runtime / "dc-memtrace" / f"{program.pid}.socket"
            assert ask(path, b"x") == b""
            assert ask(path, b"\0" * 1064) == b""
            other = struct.pack("<8sIIIIIiII1024s", b"DCMTSBY1", 99, 0, 1, 0, 0, 0, 0, 0, b"")
            assert b"another version of dc-memtrace" in ask(path, other)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
                silent.connect(str(path))
                done(program.attach(tmp_path / "trace", "--duration", "100ms"))
            program.go(3)
            program.at("end")
            program.end()
            assert not path.exists()
    finally:
        shutil.rmtree(runtime)


def test_a_socket_of_another_version(tmp_path):
    """What answers is the process itself, but says what no agent of this build would."""
    runtime = pathlib.Path(tempfile.mkdtemp())
    folder = runtime / "dc-memtrace"
    folder.mkdir(mode=0o700)
    script = (
        "import os, socket, sys\n"
        "listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "listening.bind(f'{sys.argv[1]}/{os.getpid()}.socket')\n"
        "listening.listen()\n"
        "while True:\n"
        "    connection = listening.accept()[0]\n"
        "    connection.recv(4096)\n"
        "    connection.send(b'hello')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, folder], env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)})
    try:
        until(lambda: list(folder.iterdir()))
        line = recorded.one_line(recorded.tool("attach", process.pid, "-o", tmp_path / "trace"), 4)
        assert "runs another version of dc-memtrace's agent" in line
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(runtime)
