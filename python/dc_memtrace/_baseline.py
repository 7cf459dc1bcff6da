"""Peaks of tests in a file that is reviewed with the code: memory_baseline.json."""

from __future__ import annotations

import json

import pytest

_PROPERTY = "memory_peak_bytes"
_OPTION = "--update-memory-baseline"
_INI = "memory_baseline"


def add_options(parser: pytest.Parser) -> None:
    parser.getgroup("dc-memtrace").addoption(
        _OPTION, action="store_true", help="take the peaks of this run as those that peak_memory without a limit allows"
    )
    parser.addini(_INI, "file of the peaks that peak_memory without a limit allows", default="memory_baseline.json")


def registered(config: pytest.Config) -> MemoryBaseline:
    baseline = MemoryBaseline(config)
    config.pluginmanager.register(baseline, "dc_memtrace_baseline")
    return baseline


def of(config: pytest.Config) -> MemoryBaseline:
    baseline = config.pluginmanager.get_plugin("dc_memtrace_baseline")
    assert isinstance(baseline, MemoryBaseline)
    return baseline


class MemoryBaseline:
    """The file is read on first use. With --update-memory-baseline it is written at the end of a run, by the process that has the
    reports of all tests. Under xdist, that is not the process that runs them."""

    def __init__(self, config: pytest.Config) -> None:
        self.updates = bool(config.getoption(_OPTION))
        self.path = config.rootpath / str(config.getini(_INI))
        self._is_worker = hasattr(config, "workerinput")
        self._peaks: dict[str, dict[str, int]] | None = None
        self._measured: dict[str, dict[str, int]] = {}

    def limits(self, test: str) -> dict[str, int]:
        """The limits of a test by device. Fails the test if the file has no line for it."""
        if self._peaks is None:
            self._peaks = self._read()
        if test not in self._peaks:
            pytest.fail(f"{self.path} has no peak of this test: run pytest {_OPTION}, and commit the file", pytrace=False)
        return self._peaks[test]

    @staticmethod
    def note(item: pytest.Item, device: str, peak: int) -> None:
        """Adds the peak to the test's report, for the process that collects the reports."""
        item.user_properties.append((f"{_PROPERTY} {device}", peak))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, peak in report.user_properties if report.when == "call" and report.passed else ():
            property, _, device = name.partition(" ")
            if property == _PROPERTY and isinstance(peak, int):
                self._measured.setdefault(report.nodeid, {})[device] = peak

    def pytest_sessionfinish(self) -> None:
        if not self.updates or self._is_worker or not self._measured:
            return
        peaks = {**self._read(), **self._measured}
        self.path.write_text(json.dumps(dict(sorted(peaks.items())), indent=2) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.updates and not self._is_worker:
            count = len(self._measured)
            terminalreporter.write_line(f"{count} peak{'' if count == 1 else 's'} written to {self.path}")

    def _read(self) -> dict[str, dict[str, int]]:
        if not self.path.exists():
            return {}
        try:
            peaks = json.loads(self.path.read_text())
            return {str(test): {str(device): int(bytes) for device, bytes in of_test.items()} for test, of_test in peaks.items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise pytest.UsageError(f"{self.path} is no file of peaks ({error}): restore it, or remove it and run {_OPTION}") from None
