"""Programs in standby that are not recorded: their costs, who may ask them, and their answers."""

from __future__ import annotations

import contextlib
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

import pytest

import proc
import recorded
from attached import by_import
from proc import until

# Standby needs no torch: only a recording does.
WAITS = "import dc_memtrace.standby, sys; print('waits', flush=True); sys.stdin.read()"
NO_TORCH = "has not loaded torch yet"
NOBODY = "has dc-memtrace's agent, but does not wait for requests"


@contextlib.contextmanager
def waiting(script: str = WAITS, *arguments: object, **more: str):
    """A program that has put itself in standby."""
    path = by_import()["PATH"]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=recorded.environment(**{"PATH": path, **more}),
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "waits\n"
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def runtime():
    """A folder for sockets. It is short, because an address has at most 107 bytes."""
    folder = pathlib.Path(tempfile.mkdtemp())
    yield folder
    shutil.rmtree(folder)


def attach_line(pid: int, folder: pathlib.Path) -> str:
    return recorded.one_line(recorded.tool("attach", pid, "-o", folder), 4)


def test_idle(tmp_path):
    with waiting() as process:
        # The thread sets its own name when it begins.
        threads = lambda: [each for each, name in proc.threads(process.pid).items() if name == "dcmt-standby"]  # noqa: E731
        until(threads)
        (thread,) = threads()
        task = pathlib.Path(f"/proc/{process.pid}/task/{thread}")
        switches = lambda: re.findall(r"ctxt_switches:\s*(\d+)", (task / "status").read_text())  # noqa: E731

        def is_idle() -> bool:
            """For a second."""
            before = switches()
            time.sleep(1)
            return switches() == before

        # At first it is on its way to its first wait.
        until(is_idle)
        # Its resident memory: the agent, and the stack of the thread.
        resident = 0
        for each in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{process.pid}/smaps").read_text()):
            if "libdcmt_" in each.split("\n")[0]:
                resident += int(re.search(r"Rss:\s*(\d+)", each)[1])
        assert 0 < resident <= 1024
        assert re.search(r"SigBlk:\s*f{7}[0-9a-f]+", (task / "status").read_text())


def test_sockets_are_private(tmp_path):
    long = tmp_path / ("long" * 40)
    long.mkdir(mode=0o700)
    with waiting(XDG_RUNTIME_DIR=str(long)) as process:
        (path,) = (long / "dc-memtrace").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert NO_TORCH in attach_line(process.pid, tmp_path / "trace")
    # A folder with wrong permissions is not used: there is no socket, and the program continues.
    for number, mode in enumerate((0o755, None)):
        folder = tmp_path / f"foreign{number}"
        folder.mkdir()
        if mode is None:
            (folder / "dc-memtrace").symlink_to(long / "dc-memtrace")
        else:
            (folder / "dc-memtrace").mkdir()
            (folder / "dc-memtrace").chmod(mode)
        with waiting(XDG_RUNTIME_DIR=str(folder)) as process:
            assert NOBODY in attach_line(process.pid, tmp_path / "trace")
            process.communicate("", timeout=60)
            assert process.returncode == 0


FORKS = """
import dc_memtrace.standby, os, pathlib, sys, time
child = os.fork()
if child != 0:
    pathlib.Path(sys.argv[1]).write_text(str(child))
    print("waits", flush=True)
time.sleep(60)
"""


def test_forked_children_close_the_socket(tmp_path):
    with waiting(FORKS, tmp_path / "child"):
        child = int((tmp_path / "child").read_text())
        try:
            # The child may not have run yet.
            until(lambda: not [each for each in proc.open_files(child) if each.startswith("socket:")])
            assert NOBODY in attach_line(child, tmp_path / "trace")
        finally:
            os.kill(child, signal.SIGKILL)


def ask(path: pathlib.Path, message: bytes) -> bytes:
    """The answer of the process; empty if it closes the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        connection.send(message)
        with contextlib.suppress(ConnectionError):
            return connection.recv(4096)
    return b""


def test_strangers_on_the_socket(tmp_path, runtime):
    with waiting(XDG_RUNTIME_DIR=str(runtime)) as process:
        path = runtime / "dc-memtrace" / f"{process.pid}.socket"
        assert ask(path, b"x") == b""
        assert ask(path, b"\0" * 1064) == b""
        other = struct.pack("<8sIIIIIiIII1024s", b"DCMTSBY1", 99, 0, 1, 0, 0, 0, 0, 0, 0, b"")
        assert b"another version of dc-memtrace" in ask(path, other)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
            silent.connect(str(path))
            assert NO_TORCH in attach_line(process.pid, tmp_path / "trace")
        process.communicate("", timeout=60)
        assert process.returncode == 0
        assert not path.exists()


ANSWERS_OTHERWISE = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening.bind(f"{sys.argv[1]}/{os.getpid()}.socket")
listening.listen()
print("waits", flush=True)
while True:
    connection = listening.accept()[0]
    connection.recv(4096)
    connection.send(b"hello")
"""


def test_a_socket_of_another_version(tmp_path, runtime):
    """The process itself answers, but with a version that no agent of this build has."""
    folder = runtime / "dc-memtrace"
    folder.mkdir(mode=0o700)
    with waiting(ANSWERS_OTHERWISE, folder, XDG_RUNTIME_DIR=str(runtime)) as process:
        assert "runs another version of dc-memtrace's agent" in attach_line(process.pid, tmp_path / "trace")


def test_no_dc_memtrace_to_be_found():
    result = recorded.python("-W", "always", "-c", "import dc_memtrace.standby", env=recorded.environment(PATH="/usr/bin"))
    assert result.returncode == 0
    assert "neither installed with this Python nor on PATH" in result.stderr
