"""The pytest plugin: tests can check the memory of torch.

    @pytest.mark.peak_memory("24 MiB")          the memory that the test allocates has at most this peak
    @pytest.mark.peak_memory                     the same, with limits from a file that --update-memory-baseline writes
    @pytest.mark.no_growth                       repeated calls of the test do not leave more and more memory
    @pytest.mark.no_residual_references          only fixtures hold memory that the test allocated and did not free
    memory_ledger                                a fixture: allocated, freed, net, peak and survivors of phases
    dc_memtrace.assert_released(tensor)          nothing but the test's own variable holds it

Where dc-memtrace is installed, pytest finds it; else `pytest -p dc_memtrace.pytest_plugin`. A test without any of these is
not changed. Each of them costs its test about a second, for a recording or reading of its own (docs/pytest.md).
"""

from __future__ import annotations

import dataclasses
import gc
import json
import logging
import pathlib
import re
import subprocess
from collections.abc import Generator, Iterator
from typing import Any

import pytest

import dc_memtrace
from dc_memtrace import _baseline, _growth, _installation
from dc_memtrace._errors import line_of
from dc_memtrace._ledger import MemoryLedger
from dc_memtrace._quantities import rounded_bytes
from dc_memtrace._released import is_pytests, storages_of

_MARKERS = {
    "peak_memory": "peak_memory(limit=None, device=None, tolerance=0): the test makes at most so many bytes (\"24 MiB\") that are alive at once;"
    " without a limit, as many as memory_baseline.json says, and `tolerance` more",
    "no_growth": "no_growth(rounds=8): called so often, the test does not leave more bytes each time",
    "no_residual_references": "no_residual_references(smallest=1024, allow=()): storages that the test made, of so many bytes or"
    " more, are held by fixtures alone when it has ended, or by paths that match one of `allow`",
}  # fmt: skip
_FEWEST_ROUNDS = 6
_MOST_LINES = 10
_UNITS = {"": 1, "B": 1, **{unit + suffix: base**power for power, unit in enumerate("KMGT", 1) for suffix, base in (("iB", 1024), ("B", 1000))}}


def pytest_addoption(parser: pytest.Parser) -> None:
    _baseline.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    _baseline.registered(config)
    for text in _MARKERS.values():
        config.addinivalue_line("markers", text)


@pytest.fixture
def memory_ledger(tmp_path_factory: pytest.TempPathFactory) -> Generator[MemoryLedger, None, None]:
    """The memory of this test by phase: `with memory_ledger.phase("forward"): ...`, `memory_ledger["forward"].net`."""
    ledger = MemoryLedger(tmp_path_factory.mktemp("memory_ledger"))
    yield ledger
    ledger.close()


# Fixtures in use, of all scopes.
_fixtures: dict[str, pytest.FixtureDef[Any]] = {}


def _key_of(fixture: pytest.FixtureDef[Any]) -> str:
    """With the name, which paths to a holder then have."""
    return f"{fixture.argname} {id(fixture)}"


def pytest_fixture_post_finalizer(fixturedef: pytest.FixtureDef[Any]) -> None:
    _fixtures.pop(_key_of(fixturedef), None)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    value = yield
    _fixtures[_key_of(fixturedef)] = fixturedef
    return value


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    marks = {name: pyfuncitem.get_closest_marker(name) for name in _MARKERS}
    if not any(marks.values()):
        return (yield)
    if marks["no_residual_references"] is not None:
        return (yield from _without_residuals(pyfuncitem, marks))
    return (yield from _recorded(pyfuncitem, marks))


def _recorded(item: pytest.Function, marks: dict[str, pytest.Mark | None]) -> Generator[None, object, object]:
    peak, growth = marks["peak_memory"], marks["no_growth"]
    if peak is None and growth is None:
        return (yield)
    if "memory_ledger" in item.fixturenames:
        raise pytest.UsageError(f"{item.name}: memory_ledger records the test, and so do its marks; use one of them")
    limits = _Limits(item, peak) if peak is not None else None
    rounds = _rounds_of(item, growth) if growth is not None else 1
    folder = item.session.config._tmp_path_factory.mktemp("memory") / "trace"  # type: ignore[attr-defined]
    gc.collect()
    # Only holders need a reading of the memory. Without one, sums begin at 0, so they are what the test allocates.
    recording = dc_memtrace.record(folder, detail="full", owners=growth is not None)
    objects = _growth.Objects(rounds) if growth is not None else None
    try:
        with recording:
            result = yield
            arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
            for number in range(rounds):
                if number > 0:
                    item.obj(**arguments)
                if objects is not None:
                    _forget_logs()
                    gc.collect()
                    dc_memtrace.step()
                    objects.round_ended(number)
            if objects is not None:
                dc_memtrace.find_holders()
                objects.find_holders(_named_values(item))
    finally:
        if objects is not None:
            objects.close()
    if limits is not None:
        _check_peak(recording, limits)
    if objects is not None:
        _check_growth(recording, rounds, objects)
    return result


def _named_values(item: pytest.Function) -> Iterator[tuple[str, object]]:
    """Values of the fixtures, and variables of the test's module."""
    yield from ((f"fixture {name}: ", value) for name, value in item.funcargs.items())
    yield from ((f"{item.module.__name__}.{name}", value) for name, value in list(vars(item.module).items()) if not name.startswith("__"))


def _forget_logs() -> None:
    """pytest keeps what a test logs, and with it what the test has passed to the logger."""
    for handler in logging.getLogger().handlers:
        if type(handler).__module__ == "_pytest.logging":
            getattr(handler, "records", []).clear()


def _check_peak(recording: dc_memtrace.record, limits: _Limits) -> None:
    for name, reached in sorted(recording.peak_bytes.items()):
        limit = limits.on(name, reached)
        if limit is None or reached <= limit:
            continue
        (shown,) = _json("show", "peak", "--device", name, recording.folder)
        lines = [f"  {rounded_bytes(each['bytes']):>12}  {each['name']}" for each in shown["peak"]["by_site"]]
        pytest.fail(
            f"the test has {rounded_bytes(reached)} alive at once on {name}, {rounded_bytes(reached - limit)} more than {limits.source}"
            f" ({rounded_bytes(limit)}). Made by:\n" + _first(lines) + f"\nThe trace: {recording.trace}",
            pytrace=False,
        )


def _check_growth(recording: dc_memtrace.record, rounds: int, objects: _growth.Objects) -> None:
    (report,) = _json("report", recording.folder)
    grows = [each for each in report["findings"] if each["rule"] == "grows" and not is_pytests(each["growth"]["holder"])]
    lines = []
    for each in grows:
        growth = each["growth"]
        places = "; ".join(f"{site['text'].strip()} ({site['site']})" for site in growth["stored_by"])
        lines.append(f"  {rounded_bytes(growth['per_step_bytes'])} each time in {growth['holder']}" + (f", by {places}" if places else ""))
    # The report does not judge what fixtures hold, nor a few bytes for each call.
    said = {each["growth"]["holder"] for each in grows}
    blocks = [each for each in _growth.of_blocks(recording.trace, rounds) if each.holder not in said] if recording.trace else []
    blocks = [dataclasses.replace(each, holder=each.holder or objects.holder_of(each)) for each in blocks]
    lines += [f"  {rounded_bytes(each.bytes)} each time, {each.text}" for each in blocks]
    lines += [f"  {rounded_bytes(each.bytes)} each time of objects of Python, {each.text}" for each in objects.growing()]
    if lines:
        pytest.fail("memory grows with each call of the test:\n" + _first(lines) + f"\nThe trace: {recording.trace}", pytrace=False)


def _without_residuals(item: pytest.Function, marks: dict[str, pytest.Mark | None]) -> Generator[None, object, object]:
    mark = marks["no_residual_references"]
    smallest, allowed = _residual_options(item, mark)
    gc.collect()
    before = {(each.address, each.bytes) for each in dc_memtrace.snapshot(smallest)}
    result = yield from _recorded(item, marks)
    gc.collect()
    fixtures = storages_of(each.cached_result[0] for each in _fixtures.values() if each.cached_result is not None)
    lines = []
    for each in dc_memtrace.snapshot(smallest):
        if (each.address, each.bytes) in before or each.address in fixtures:
            continue
        held = [path.path for path in each.holders if path.confirmed and not is_pytests(path.path)]
        held = [path for path in held if not any(re.fullmatch(pattern, path) for pattern in allowed)]
        if held:
            lines.append(f"  {rounded_bytes(each.bytes):>12}  {held[0]}")
    if lines:
        pytest.fail("what the test made is still held when it has ended:\n" + _first(lines), pytrace=False)
    return result


class _Limits:
    """The limits of a test's peak_memory by device."""

    def __init__(self, item: pytest.Function, mark: pytest.Mark) -> None:
        try:
            limit, self._device, tolerance = (lambda limit=None, device=None, tolerance=0: (limit, device, tolerance))(
                *mark.args, **mark.kwargs
            )
            self._limit, self._tolerance = None if limit is None else _parsed(limit), _parsed(tolerance)
        except (TypeError, ValueError) as error:
            raise pytest.UsageError(f"{item.name}: peak_memory wants a size like \"24 MiB\", and a device if it likes: {error}") from None
        self._item = item
        self._baseline = _baseline.of(item.config)
        self.source = "peak_memory allows" if limit is not None else f"{self._baseline.path.name} has for it"
        if self._limit is None and not self._baseline.updates:
            self._limits = self._baseline.limits(item.nodeid)

    def on(self, device: str, reached: int) -> int | None:
        """The limit in bytes; None: no limit."""
        if self._device is not None and device != self._device:
            return None
        if self._limit is not None:
            return self._limit
        self._baseline.note(self._item, device, reached)
        return None if self._baseline.updates else self._limits.get(device, 0) + self._tolerance


def _rounds_of(item: pytest.Function, mark: pytest.Mark) -> int:
    try:
        rounds = (lambda rounds=8: int(rounds))(*mark.args, **mark.kwargs)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{item.name}: no_growth wants a number of rounds: {error}") from None
    if rounds < _FEWEST_ROUNDS:
        raise pytest.UsageError(f"{item.name}: no_growth needs {_FEWEST_ROUNDS} rounds or more, to distinguish growth from a warm-up")
    return rounds


def _residual_options(item: pytest.Function, mark: pytest.Mark | None) -> tuple[int, list[str]]:
    assert mark is not None
    try:
        smallest, allow = (lambda smallest=1024, allow=(): (int(smallest), allow))(*mark.args, **mark.kwargs)
        allow = [allow] if isinstance(allow, str) else list(allow)
        # Paths contain brackets, so only * is a wildcard.
        return smallest, [".*".join(map(re.escape, each.split("*"))) for each in allow]
    except (TypeError, ValueError, AttributeError) as error:
        raise pytest.UsageError(f"{item.name}: no_residual_references wants smallest=BYTES or allow=[PATHS]: {error}") from None


def _parsed(size: str | int) -> int:
    if isinstance(size, int):
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{size!r} is no size")
    return int(float(match[1]) * _UNITS[match[2]])


def _first(lines: list[str]) -> str:
    more = [f"  and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    return "\n".join(lines[:_MOST_LINES] + more)


def _json(*arguments: str | pathlib.Path) -> list[dict[str, Any]]:
    program = _installation.program()
    if program is None:
        raise dc_memtrace.MemtraceError(_installation.NOT_FOUND)
    done = subprocess.run([program, *arguments, "--json"], stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise dc_memtrace.MemtraceError(line_of(done.stderr))
    return json.loads(done.stdout)["traces"]
