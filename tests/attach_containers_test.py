"""Programs in their own namespaces, as in a container: standby from outside and inside, and injection of the agent."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import pytest

import proc
import recorded
from attached import done, hooks_in
from proc import until

NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc")
PROGRAM = recorded.PROGRAMS / "attached_training.py"
NOBODY = "has dc-memtrace's agent, but does not wait for requests"

pytestmark = pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*NAMESPACES, "true"], capture_output=True).returncode != 0,
    reason="this machine permits no namespaces",
)


def last_child(pid: int) -> int:
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return last_child(int(children[0])) if children else pid


class Contained:
    """A training in its own namespaces, started after a shell ran `prepare` in them."""

    def __init__(self, folder: pathlib.Path, command: tuple[object, ...] = (), prepare: str = "true", **more: str) -> None:
        folder.mkdir()
        self.folder = folder
        words = [*map(str, command), sys.executable, str(PROGRAM), str(folder), "0"]
        self.process = subprocess.Popen(
            [*NAMESPACES, "sh", "-c", f'{prepare} && exec "$@"', "sh", *words],
            env=recorded.environment(ATTACHED_KEEPS="0", **more), stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        # During imports, it may have no sleeping thread.
        until(lambda: self.process.poll() is not None or (folder / "trains").exists())
        assert self.process.poll() is None, self.process.stderr.read()
        self.pid = last_child(self.process.pid)

    def end(self) -> None:
        (self.folder / "end").touch()
        assert self.process.wait(timeout=60) == 0, self.process.stderr.read()


@contextlib.contextmanager
def contained(*arguments, **more):
    program = Contained(*arguments, **more)
    try:
        yield program
    finally:
        program.process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(program.pid, 9)
        program.process.wait()


def check(folder: pathlib.Path) -> None:
    (trace,) = recorded.traces(folder)
    meta = recorded.meta(trace)
    assert (meta["state"], meta["lost_deaths"]) == ("finished", 0)
    assert recorded.query(trace, "SELECT count(*) FROM mark WHERE kind = 'step' AND to_seq IS NOT NULL")[0][0] >= 2
    assert recorded.query(trace, "SELECT count(*) FROM storage WHERE stack IS NOT NULL")[0][0] > 0
    # The memory from before was read from outside, or from inside.
    assert recorded.query(trace, "SELECT count(*) FROM storage WHERE first_seen AND stack IS NULL")[0][0] > 0


STANDBY = (recorded.TOOL, "run", "--standby", "--")


@recorded.for_soak
def test_standby_from_outside_and_inside(tmp_path):
    with contained(tmp_path / "program", STANDBY) as program:
        until(lambda: recorded.tool("doctor", program.pid).returncode == 0)
        assert str(program.pid) in recorded.tool("status").stdout
        result = recorded.tool("attach", program.pid, "--steps", 2, "-q", "-o", tmp_path / "outside")
        assert result.returncode == 0, result.stderr
        check(tmp_path / "outside")
        assert hooks_in(program.pid) == []
        if os.geteuid() == 0:
            line = recorded.one_line(recorded.tool("attach", program.pid, "-o", tmp_path / "other", user=65534), 4)
            assert "belongs to another user" in line
        own = re.search(r"NSpid:.*\s(\d+)\n", pathlib.Path(f"/proc/{program.pid}/status").read_text())[1]
        inside = subprocess.run(
            ["nsenter", "-t", str(program.pid), "--user", "--mount", "--pid", recorded.TOOL, "attach", own, "--steps", "2", "-q",
             "-o", tmp_path / "inside"], capture_output=True, text=True, env=recorded.environment(), timeout=180,
        )  # fmt: skip
        assert inside.returncode == 0, inside.stderr
        check(tmp_path / "inside")
        program.end()


def test_a_program_that_sees_other_files(tmp_path):
    """None of dc-memtrace's files are visible inside, and the program has its own runtime folder."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    hidden = f"mount -t tmpfs none {recorded.BUILD}/lib && mount -t tmpfs -o mode=700 none {runtime}"
    with contained(tmp_path / "program", (), hidden, XDG_RUNTIME_DIR=str(runtime)) as program:
        assert not pathlib.Path(f"/proc/{program.pid}/root/{recorded.BUILD}/lib/dcmt").exists()
        sockets = lambda: sum(file.startswith("socket:") for file in proc.open_files(program.pid))  # noqa: E731
        before = sockets()
        for number in range(2):
            attached = subprocess.Popen(
                [recorded.TOOL, "attach", str(program.pid), "--steps", "2", "-q", "-o", tmp_path / f"trace{number}"],
                stderr=subprocess.PIPE, text=True, env=recorded.environment(),
            )  # fmt: skip
            done(attached)
            check(tmp_path / f"trace{number}")
            assert hooks_in(program.pid) == []
            # The listening socket.
            until(lambda: sockets() == before + 1)
        program.end()


def runs_out_of_shared_memory() -> str:
    return "mount -t tmpfs -o size=4k none /dev/shm && (head -c 1000000 /dev/zero > /dev/shm/full || true) 2>/dev/null"


@recorded.for_soak
def test_full_shared_memory(tmp_path):
    """No part of a recording lies in shared memory."""
    with contained(tmp_path / "program", STANDBY, runs_out_of_shared_memory()) as program:
        until(lambda: recorded.tool("doctor", program.pid).returncode == 0)
        result = recorded.tool("attach", program.pid, "--steps", 1, "-q", "-o", tmp_path / "trace")
        assert result.returncode == 0, result.stderr
        check(tmp_path / "trace")


@recorded.for_soak
def test_no_place_for_a_socket(tmp_path):
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    with contained(tmp_path / "program", STANDBY, f"mount -t tmpfs -o ro none {runtime}", XDG_RUNTIME_DIR=str(runtime)) as program:
        line = recorded.one_line(recorded.tool("attach", program.pid, "-o", tmp_path / "trace"), 4)
        assert NOBODY in line and "could not make its socket (XDG_RUNTIME_DIR, /tmp)" in line
        program.end()


@recorded.for_soak
def test_a_socket_that_was_there(tmp_path):
    """The socket of an earlier process with this number, the first one in the namespace."""
    runtime = pathlib.Path(f"/tmp/dcmt-{os.getpid()}")
    (runtime / "dc-memtrace").mkdir(mode=0o700, parents=True)
    runtime.chmod(0o700)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as earlier:
            earlier.bind(str(runtime / "dc-memtrace" / "1.socket"))
            earlier.listen()
            with contained(tmp_path / "program", STANDBY, XDG_RUNTIME_DIR=str(runtime)) as program:
                until(lambda: recorded.tool("doctor", program.pid).returncode == 0)
                result = recorded.tool("attach", program.pid, "--steps", 1, "-q", "-o", tmp_path / "trace")
                assert result.returncode == 0, result.stderr
                check(tmp_path / "trace")
    finally:
        shutil.rmtree(runtime)
