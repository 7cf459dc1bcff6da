"""Finds who holds the memory of this process, by a reading from outside (`dc-memtrace snapshot`)."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from dc_memtrace import _installation, _table
from dc_memtrace._errors import MemtraceError, line_of

_PR_SET_PTRACER = 0x59616D61


@dataclasses.dataclass(frozen=True)
class Holder:
    """A path that leads to a storage."""

    path: str
    """As an expression, where it is one: "model.cache[3]", "step (train.py:37): batch", "libfoo.so: cache → Session"."""
    confirmed: bool
    """Each reference of the path was there in a second reading."""


@dataclasses.dataclass(frozen=True)
class HeldStorage:
    """A storage of torch that was alive while the memory was read."""

    address: int
    """Of its data, on its device."""
    bytes: int
    references: int
    """Strong references to the storage object."""
    role: str | None
    """"parameter", "gradient", "optimizer state", "buffer", "saved for backward", or None of these."""
    holders: tuple[Holder, ...]
    """The one that reads best first. None of them: none was found, which is not that there is none."""


def snapshot(smallest: int = 65536, timeout: float = 60.0) -> list[HeldStorage]:
    """All current storages of this process with at least `smallest` bytes, and their holders.

    The memory is read from outside in about half a second. Other threads continue. The storages are in the order of the
    reading. Variables of the caller are among the holders.

    timeout: the maximum of seconds.
    Raises MemtraceError if this process cannot be read: dc-memtrace is not found, torch is not imported, the right to
    read is missing, or the time is over.
    """
    program = _installation.program()
    if program is None:
        raise MemtraceError(_installation.NOT_FOUND)
    _let_children_read()
    try:
        done = subprocess.run(
            [program, "snapshot", str(os.getpid()), "--json", "--smallest", str(max(1, int(smallest)))],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise MemtraceError(f"the memory was not read within {timeout:g} s") from None
    if done.returncode != 0:
        raise MemtraceError(line_of(done.stderr))
    return [
        HeldStorage(
            each["data"], each["bytes"], each["references"], each["role"],
            tuple(Holder(holder["path"], holder["confirmed"]) for holder in each["holders"]),
        )
        for each in json.loads(done.stdout)["storages"]
    ]  # fmt: skip


def holders(tensor: Any, timeout: float = 60.0) -> list[str]:
    """Paths to the current holders of the storage of `tensor`, in the form of `snapshot()`. The most readable one is first.

    The caller's own variables are among them. An empty list means that no holder was found, not that there is none.

    tensor: a torch.Tensor with memory of its own, on any device. timeout: the maximum of seconds.
    Raises TypeError if it is no tensor, ValueError for a tensor without memory, MemtraceError as snapshot() does.
    """
    address, size = address_of(tensor)
    del tensor  # else this call would be one of the holders
    return holders_at(address, size, timeout)


def holders_at(address: int, size: int, timeout: float = 60.0) -> list[str]:
    found = [each for each in snapshot(size, timeout) if each.address == address and each.bytes == size]
    return [holder.path for each in found for holder in each.holders]


def address_of(tensor: Any) -> tuple[int, int]:
    """The address and the bytes of a tensor's storage."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{type(tensor).__name__} is no torch.Tensor")
    try:
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
    except (NotImplementedError, RuntimeError):  # sparse, fake or meta
        address, size = 0, 0
    if address == 0 or size == 0:
        raise ValueError("the tensor has no memory of its own")
    return address, size


def _let_children_read() -> None:
    """Under Yama's scope 1, only parents, and processes that a process allows, can read its memory. This allows its children."""
    try:
        scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").read_text()
    except OSError:
        return
    table = _table.table()
    if scope.startswith("1") and not (table is not None and table.recording()):  # else the recorder keeps that right
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, os.getpid(), 0, 0, 0)
