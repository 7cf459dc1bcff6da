"""dc-memtrace from inside a program: marks, recordings of a block, and holders of memory.

Marks tell the recorder what the program is doing. Every mark is a no-op that costs well under a microsecond in a process that
is not recorded, so marks can stay in the program. Marks keep no tensor, and do not raise because the process is recorded. They
may be called from any thread.

    import dc_memtrace

    for batch in data:
        with dc_memtrace.phase("forward"):
            loss = model(batch)
        ...
        dc_memtrace.step()

`record` records a block of this program. `snapshot` and `holders` report who holds its memory now, and `assert_released` is an
assertion about that. `peak` has figures for a log, `prometheus` and `opentelemetry` for these.
`dc_memtrace.pytest_plugin` is for tests (docs/pytest.md). What reads memory or traces needs the program dc-memtrace, installed
with this Python or on PATH, and raises MemtraceError where it cannot do what it is asked for.
"""

from __future__ import annotations

import operator
import sys
import warnings
from types import TracebackType
from typing import Any

from dc_memtrace._errors import MemtraceError
from dc_memtrace._metrics import opentelemetry, prometheus
from dc_memtrace._peak import peak
from dc_memtrace._record import record
from dc_memtrace._released import assert_released
from dc_memtrace._snapshot import HeldStorage, Holder, holders, snapshot
from dc_memtrace._table import table as _table

__all__ = [
    "HeldStorage", "Holder", "MemtraceError", "assert_released", "census", "find_holders", "gather", "holders", "mark",
    "opentelemetry", "peak", "persist", "phase", "prometheus", "record", "recording", "release", "snapshot", "step", "wait",
]  # fmt: skip


def recording() -> bool:
    """True while this process is recorded."""
    table = _table()
    return table is not None and table.recording() != 0


def mark(name: str) -> None:
    """Names this point of the run."""
    table = _table()
    if table is not None:
        table.mark(_utf8(name))


class phase:
    """Names a span: `with phase("forward"): ...`. May be nested, and entered more than once.

    A span begins and ends on one thread.
    """

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[int | None] = []

    def __enter__(self) -> phase:
        table = _table()
        self._open.append(None if table is None else table.phase_begin(_utf8(self._name)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        span = self._open.pop()
        table = _table()
        if span is not None and table is not None:
            table.phase_end(span)


_next_step = 0


def step(number: int | None = None) -> None:
    """Ends the current training step. From the first call on, the recorder detects no steps by itself.

    number: the step's number; by default the number of the last call plus 1, from 0.
    """
    global _next_step
    ended = _next_step if number is None else operator.index(number)
    _next_step = ended + 1
    table = _table()
    if table is not None:
        table.step(ended)


def gather(key: int, tensor: Any, graph: int = 0) -> None:
    """Declares that `tensor` is the gathered parameter `key`. The release of its current storage is observed.

    key, graph: identify the parameter; use graph 0 if there is only one graph. tensor: a torch.Tensor; no reference is kept.
    """
    key, graph = operator.index(key), operator.index(graph)
    table = _table()
    if table is not None and _is_tensor(tensor):
        table.gather(graph, key, None, id(tensor))


def wait(key: int, tensor: Any, graph: int = 0) -> None:
    """Declares that `tensor` is the result of waiting for the gather of `key`. Arguments as for gather()."""
    key, graph = operator.index(key), operator.index(graph)
    table = _table()
    if table is not None and _is_tensor(tensor):
        table.wait(graph, key, None, id(tensor))


def persist(key: int, graph: int = 0) -> None:
    """Declares that the parameter `key` stays gathered from here on: its releases are only counted."""
    key, graph = operator.index(key), operator.index(graph)
    table = _table()
    if table is not None:
        table.persist(graph, key)


class release:
    """Declares the release of one use of the parameter `key`.

    As a context around the code that releases, so that the bytes before and after it are recorded:

        with release(key, users=2):
            handle.free()

    or as a plain call right after the release: `release(key, users=2)`.

    users: the number of uses in a cycle; the first value of a cycle counts. The release that decreases it to zero is final.
    """

    __slots__ = ("_key", "_graph", "_table")

    def __init__(self, key: int, users: int = 1, graph: int = 0) -> None:
        self._table = None  # needed by __del__ if an argument is refused
        self._key, self._graph = operator.index(key), operator.index(graph)
        users = operator.index(users)
        self._table = _table()
        if self._table is not None:
            self._table.release_begin(self._graph, self._key, users)

    def __enter__(self) -> release:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    # A plain call drops its result at once, which ends the release there.
    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        table, self._table = self._table, None
        if table is not None:
            table.release_end(self._graph, self._key)


def census(tensor: Any) -> None:
    """Records the current holders of the tensor's storage, including the caller's own references."""
    table = _table()
    if table is not None and _is_tensor(tensor):
        table.census(None, id(tensor))


def find_holders(timeout: float = 10.0) -> bool:
    """Waits until the recorder has found the current holders of all storages of this process: usually half a second.

    The recorder also does this by itself while memory grows and when the program ends. A call is useful for holders in a function
    that returns before that. No other Python thread runs during the call.

    timeout: the maximum of seconds to wait. Returns True if the recorder has finished; False after the timeout, after a signal,
    and if this process is not recorded.
    """
    table = _table()
    return table is not None and table.find_holders(max(0, int(timeout * 1e9))) != 0


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext dc_memtrace` in a notebook; adds `%%memtrace`."""
    from dc_memtrace import _notebook

    _notebook.register(shell)


def _utf8(name: str) -> bytes:
    return str(name).encode("utf-8", "replace")


def _is_tensor(candidate: Any) -> bool:
    """The agent reads the object as a tensor, so nothing else may reach it. Warns: recording must not raise."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(candidate, torch.Tensor):
        return True
    warnings.warn(f"dc_memtrace: {type(candidate).__name__} is no torch.Tensor; mark ignored", stacklevel=3)
    return False
