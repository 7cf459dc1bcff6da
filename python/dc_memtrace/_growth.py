"""What repeated calls of a test leave behind: blocks of torch, by the trace, and objects of Python, by tracemalloc."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import os
import pathlib
import re
import sqlite3
import sys
import sysconfig
import tracemalloc
import types
from collections.abc import Iterable, Iterator

from dc_memtrace._ledger import STACK, site

_ROUNDS = "SELECT to_seq FROM mark WHERE kind = 'step' AND to_seq IS NOT NULL ORDER BY to_seq"
_LEFT = """
SELECT b.from_seq, b.bytes, b.stack, b.address,
  (SELECT t.text FROM owner o JOIN string t ON t.id = o.path WHERE o.storage = b.storage AND o.confirmed
   ORDER BY o.scan DESC, o.position LIMIT 1)
FROM block b WHERE b.to_seq IS NULL AND b.from_seq > ?
"""
_FIXTURE = re.compile(r"^dc_memtrace\.pytest_plugin\._fixtures\['(\w+) \d+'\]\.cached_result\[0\]")
_MOST_SNAPSHOTS = 4  # each needs a second for a million objects
_MOST_VISITED = 20_000  # objects of which the holder is searched
_MOST_ENTRIES = 10_000
_LEAST_OBJECTS = 1024  # bytes; a number for each call is what a list of losses should have


@dataclasses.dataclass(frozen=True)
class Growth:
    """What each later call has left."""

    bytes: int
    site: str
    """The place outside of libraries that made it: "model.py:17 forward"."""
    holder: str | None
    """What holds it: "fixture trainer: .outputs"; None: not found, or not searched for."""
    addresses: frozenset[int] = frozenset()
    """Of blocks that each round has left."""

    @property
    def text(self) -> str:
        return f"made at {self.site}" + (f", held by {self.holder}" if self.holder else "")


def judged(rounds: int) -> range:
    """The rounds, from 0 on, each of which must leave something. In those before them a cache may fill, and the last one may keep
    what the next would replace."""
    return range(rounds // 4, rounds - 1)


def of_blocks(trace: pathlib.Path, rounds: int) -> list[Growth]:
    """Places whose blocks of each judged round are alive at the end, most bytes first."""
    database = sqlite3.connect(f"{trace.resolve().as_uri()}?mode=ro", uri=True)
    try:
        ends = [end for (end,) in database.execute(_ROUNDS)][-rounds:]
        if len(ends) < rounds:
            return []
        first, last = judged(rounds)[0], judged(rounds)[-1]
        begin, end = ends[first - 1], ends[last]
        by_site: dict[str, dict[int, int]] = {}
        holders: dict[str, str | None] = {}
        addresses: dict[str, set[int]] = {}
        for at, size, stack, address, holder in database.execute(_LEFT, (begin,)):
            if at > end:
                continue
            place = site(database.execute(STACK, (stack,)).fetchall())
            addresses.setdefault(place, set()).add(address)
            number = next(i for i, each in enumerate(ends) if at <= each)
            of_rounds = by_site.setdefault(place, {})
            of_rounds[number] = of_rounds.get(number, 0) + size
            holders[place] = holders.get(place) or (_readable(holder) if holder else None)
    finally:
        database.close()
    growing = [
        Growth(sum(sizes.values()) // len(sizes), place, holders[place], frozenset(addresses[place]))
        for place, sizes in by_site.items() if set(sizes) == set(judged(rounds))
    ]  # fmt: skip
    return sorted(growing, key=lambda each: -each.bytes)


def _readable(path: str) -> str:
    path = _FIXTURE.sub(r"fixture \1: ", path)
    return re.sub(r"\[\d+\]$", "", path).removesuffix(": ")


class Objects:
    """Counts objects of Python that rounds leave, by the line that made them, and names what holds them and small tensors."""

    def __init__(self, rounds: int) -> None:
        later = judged(rounds)
        self._begin = later[0] - 1
        self._judged = sorted({later[i * (len(later) - 1) // (_MOST_SNAPSHOTS - 1)] for i in range(_MOST_SNAPSHOTS)})
        self._sizes: list[dict[tuple[str, int], int]] = []
        self._holders: dict[str, str] = {}
        self._tensors: list[tuple[str, set[int]]] = []
        self._rounds = len(later)
        self._is_ours = False

    def round_ended(self, number: int) -> None:
        """Call it after each round, when garbage has been collected."""
        if number == self._begin and not tracemalloc.is_tracing():
            tracemalloc.start()
            self._is_ours = True
        elif self._is_ours and number in self._judged:
            self._sizes.append(_by_line(tracemalloc.take_snapshot()))

    def find_holders(self, roots: Iterable[tuple[str, object]]) -> None:
        """Names the containers that have an object of each judged round, from the named objects on. Call it before close()."""
        if not self._is_ours:
            return
        seen: set[int] = set()
        queue = collections.deque(roots)
        while queue and len(seen) < _MOST_VISITED:
            path, holder = queue.popleft()
            if id(holder) in seen:
                continue
            seen.add(id(holder))
            parts = list(itertools.islice(_parts(path, holder), _MOST_ENTRIES))
            made = collections.Counter(_line_of(part) for _, part in parts)
            for line, count in made.items():
                if line is not None and count >= self._rounds:
                    self._holders.setdefault(line, path.removesuffix(": "))
            tensors = _addresses(part for _, part in parts)
            if len(tensors) >= self._rounds:
                self._tensors.append((path.removesuffix(": "), tensors))
            queue.extend(parts)

    def holder_of(self, blocks: Growth) -> str | None:
        """The container with tensors on as many of the blocks as there are judged rounds."""
        return next((path for path, tensors in self._tensors if len(tensors & blocks.addresses) >= self._rounds), None)

    def close(self) -> None:
        if self._is_ours:
            tracemalloc.stop()
            self._is_ours = False

    def growing(self) -> list[Growth]:
        """Lines that left more with each judged round, and about as much each time, most bytes first. What a round replaces has
        about the same size in all of them."""
        lines = []
        calls = self._judged[-1] - self._judged[0]
        for line, last in self._sizes[-1].items() if len(self._sizes) == len(self._judged) > 1 else ():
            sizes = [each.get(line, 0) for each in self._sizes]
            each_time = (last - sizes[0]) // calls
            rises = all(later > earlier for earlier, later in zip(sizes, sizes[1:]))
            if rises and each_time >= _LEAST_OBJECTS and last >= 0.6 * (calls + 1) * sizes[0]:
                site = _short(*line)
                lines.append(Growth(each_time, site, self._holders.get(site)))
        return sorted(lines, key=lambda each: -each.bytes)


_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))
) + (os.path.dirname(os.path.abspath(__file__)) + os.sep,)


def _short(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}"


def _line_of(thing: object) -> str | None:
    """The line that made the object, if that is the program's own and was seen."""
    traceback = tracemalloc.get_object_traceback(thing)
    return _short(traceback[0].filename, traceback[0].lineno) if traceback and _is_own(traceback[0].filename) else None


def _addresses(things: Iterable[object]) -> set[int]:
    """Where the tensors among them have their data."""
    torch = sys.modules.get("torch")
    if torch is None:
        return set()
    return {thing.data_ptr() for thing in things if type(thing) is torch.Tensor and thing.layout is torch.strided}


def _parts(path: str, holder: object) -> Iterator[tuple[str, object]]:
    """The entries of a container, else the attributes of an object or a class, with their paths. Runs nothing of the program's own."""
    if isinstance(holder, dict):
        yield from ((f"{path}[{key!r}]", value) for key, value in list(dict.items(holder)) if isinstance(key, (str, int)))
        return
    for kind in (list, tuple, set, frozenset, collections.deque):
        if isinstance(holder, kind):
            yield from ((f"{path}[{place}]", value) for place, value in enumerate(list(kind.__iter__(holder))))
            return
    if not isinstance(holder, types.ModuleType):
        try:
            attributes = object.__getattribute__(holder, "__dict__")
        except AttributeError:
            return
        yield from ((f"{path}.{name}", value) for name, value in list(attributes.items()))


def _by_line(snapshot: tracemalloc.Snapshot) -> dict[tuple[str, int], int]:
    """Bytes by the innermost line, where that is the program's own. What a library makes, it may keep for itself."""
    return {
        (statistic.traceback[0].filename, statistic.traceback[0].lineno): statistic.size
        for statistic in snapshot.statistics("lineno") if _is_own(statistic.traceback[0].filename)
    }  # fmt: skip


def _is_own(file: str) -> bool:
    return not file.startswith(("<", sys.prefix + os.sep)) and not os.path.realpath(file).startswith(_LIBRARIES)
