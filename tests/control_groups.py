"""Control groups of version 1 or 2 for programs that run under a limit, or alone in one."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import time

import pytest

VERSION_1 = pathlib.Path("/sys/fs/cgroup/memory")
IS_V1 = VERSION_1.exists()


@contextlib.contextmanager
def made(limit: int | None = None):
    """A new group, with at most `limit` bytes of memory. Skips the test if it may not create one."""
    group = (VERSION_1 if IS_V1 else VERSION_1.parent) / f"dc-memtrace-test-{os.getpid()}"
    try:
        group.mkdir()
        if limit is not None:
            (group / ("memory.limit_in_bytes" if IS_V1 else "memory.max")).write_text(str(limit))
        used(group)
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield group
    finally:
        # A group can be removed after its last process has ended.
        while processes := (group / "cgroup.procs").read_text().split():
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            time.sleep(0.05)
        group.rmdir()


def used(group: pathlib.Path) -> int:
    """The bytes in use."""
    return int((group / ("memory.usage_in_bytes" if IS_V1 else "memory.current")).read_text())


def command_in(group: pathlib.Path, command: list) -> list[str]:
    """The command, to be run in the group."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *map(str, command)]
