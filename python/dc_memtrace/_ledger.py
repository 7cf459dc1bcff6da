"""Memory by the phases of a test, computed from the trace of its recording."""

from __future__ import annotations

import dataclasses
import gc
import os
import pathlib
import sqlite3
from types import TracebackType

import dc_memtrace
from dc_memtrace._errors import MemtraceError

_PREFIX = "memory_ledger: "
_SPANS = """
SELECT m.from_seq, m.to_seq FROM mark m JOIN string s ON s.id = m.name
WHERE m.kind = 'phase' AND s.text = ? AND m.to_seq IS NOT NULL ORDER BY m.id
"""
# The changes of the sum in a span.
_CHANGES = """
SELECT delta FROM (
  SELECT device, from_seq AS seq, bytes AS delta FROM block
  UNION ALL SELECT device, to_seq, -bytes FROM block WHERE to_seq IS NOT NULL)
WHERE seq > ? AND seq < ? AND device LIKE ? ORDER BY seq, delta
"""
_SURVIVORS = """
SELECT b.bytes, b.device, b.stack,
  (SELECT t.text FROM owner o JOIN string t ON t.id = o.path WHERE o.storage = b.storage ORDER BY o.scan DESC, o.position LIMIT 1)
FROM block b WHERE b.from_seq > ?1 AND b.from_seq < ?2 AND (b.to_seq IS NULL OR b.to_seq > ?2) AND b.device LIKE ?3
ORDER BY b.bytes DESC, b.id
"""
STACK = """
WITH RECURSIVE up(depth, parent, frame) AS (
  SELECT 0, parent, frame FROM stack WHERE id = ?
  UNION ALL SELECT depth + 1, s.parent, s.frame FROM stack s JOIN up ON s.id = up.parent)
SELECT f.text, frame.line, n.text FROM up JOIN frame ON frame.id = up.frame
JOIN string f ON f.id = frame.file JOIN string n ON n.id = frame.function ORDER BY depth
"""


@dataclasses.dataclass(frozen=True)
class Survivor:
    """A block that was allocated in a phase and is alive at the end of the phase."""

    bytes: int
    device: str
    site: str
    """The innermost place outside of torch that made it: "stage.py:17 forward"."""
    holder: str | None
    """Who holds it when the ledger is read; None: it is gone by then, or nothing was found."""


@dataclasses.dataclass(frozen=True)
class PhaseMemory:
    """The memory of a phase in bytes of torch's blocks, summed over all times that the phase was entered."""

    allocated: int
    """Of the blocks that were made."""
    freed: int
    """Of the blocks that went, those from before the phase too."""
    peak: int
    """The most that was alive at once above what was alive when the phase began."""
    survivors: tuple[Survivor, ...]
    """Largest first."""

    @property
    def net(self) -> int:
        """Allocated less freed bytes; negative if the phase freed more than it allocated."""
        return self.allocated - self.freed


class MemoryLedger:
    """The memory of one test by phase: `with memory_ledger.phase("forward"): ...`, then `memory_ledger["forward"].net`.

    The first phase begins a recording of all threads. Reading the first figure ends it, so all phases must come before that. The
    figures are exact: blocks of torch's allocators count at every size.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._recording = dc_memtrace.record(folder, detail="full")
        self._begun = False

    def phase(self, name: str) -> _Phase:
        """A span of the test. It must not be nested in itself. Raises MemtraceError if a figure was read before."""
        return _Phase(self, name)

    def __getitem__(self, name: str) -> PhaseMemory:
        """The memory of a phase on all devices. Raises KeyError for an unknown phase, MemtraceError if nothing could be recorded."""
        return self.of(name)

    def of(self, name: str, device: str | None = None) -> PhaseMemory:
        """The memory of a phase on one device, "cpu" or "cuda:0"; by default on all devices."""
        self.close()
        trace = self._recording.trace
        if trace is None:
            raise KeyError(name)
        database = sqlite3.connect(f"{trace.resolve().as_uri()}?mode=ro", uri=True)
        try:
            spans = database.execute(_SPANS, (_PREFIX + name,)).fetchall()
            if not spans:
                raise KeyError(name)
            which = "%" if device is None else device
            allocated = freed = peak = 0
            survivors: list[Survivor] = []
            for begin, end in spans:
                total = 0
                for (delta,) in database.execute(_CHANGES, (begin, end, which)):
                    allocated += max(delta, 0)
                    freed -= min(delta, 0)
                    total += delta
                    peak = max(peak, total)
                for size, on, stack, holder in database.execute(_SURVIVORS, (begin, end, which)).fetchall():
                    survivors.append(Survivor(size, on, site(database.execute(STACK, (stack,)).fetchall()), holder))
        finally:
            database.close()
        survivors.sort(key=lambda each: -each.bytes)
        return PhaseMemory(allocated, freed, peak, tuple(survivors))

    def close(self) -> None:
        """Ends the recording if there is one."""
        if self._begun and self._recording.trace is None:
            dc_memtrace.find_holders()
            self._recording.__exit__(None, None, None)

    def _begin(self) -> None:
        if self._recording.trace is not None:
            raise MemtraceError("a figure of the ledger has been read; its phases must come before that")
        if not self._begun:
            self._recording.__enter__()
            self._begun = True


class _Phase:
    __slots__ = ("_ledger", "_span")

    def __init__(self, ledger: MemoryLedger, name: str) -> None:
        self._ledger = ledger
        self._span = dc_memtrace.phase(_PREFIX + name)

    def __enter__(self) -> _Phase:
        self._ledger._begin()
        gc.collect()  # else it may run at any time, and this phase would be charged with what it frees
        self._span.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._span.__exit__(kind, error, traceback)


def site(stack: list[tuple[str, int, str]]) -> str:
    for file, line, function in stack:
        if f"{os.sep}torch{os.sep}" not in file:
            return f"{os.path.basename(file)}:{line} {function}"
    return "(no Python stack)"
