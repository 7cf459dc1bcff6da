"""Figures for Prometheus and OpenTelemetry, and what an assistant can ask about recordings."""

from __future__ import annotations

import re
import subprocess
import sys
import types

import pytest
import recorded
import written_trace

import dc_memtrace
from dc_memtrace import MemtraceError, _metrics
from dc_memtrace.mcp_server import Recordings

FIGURES = {
    "process/resident_bytes": 300, "process/peak_resident_bytes": 400, "cuda:0/allocated_bytes": 5, "cuda:1/allocated_bytes": 7,
}  # fmt: skip


def parsed(text: str) -> dict[tuple[str, str], int]:
    """By name and labels. Each name's lines stand together, after its help and its type."""
    assert text.endswith("\n")
    values, typed = {}, []
    for line in text.splitlines():
        if kind := re.fullmatch(r"# TYPE (\w+) gauge", line):
            typed.append(kind[1])
        elif not re.fullmatch(r"# HELP \w+ .+\.", line):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\d+)", line).groups()
            assert name == typed[-1]
            values[name, labels or ""] = int(value)
    assert len(typed) == len(set(typed))
    return values


def test_prometheus_has_a_line_for_each_figure(monkeypatch):
    monkeypatch.setattr(_metrics, "peak", lambda: FIGURES)
    assert parsed(dc_memtrace.prometheus()) == {
        ("dc_memtrace_resident_bytes", ""): 300, ("dc_memtrace_peak_resident_bytes", ""): 400,
        ("dc_memtrace_allocated_bytes", 'device="cuda:0"'): 5, ("dc_memtrace_allocated_bytes", 'device="cuda:1"'): 7,
    }  # fmt: skip
    assert ("dc_memtrace_allocated_bytes", 'device="cuda:1",rank="3",run="a\\"\\\\\\n"') in parsed(
        dc_memtrace.prometheus({"rank": 3, "run": 'a"\\\n'})
    )


@pytest.mark.parametrize("name", ["a-b", "__name__", "device", "größe", ""])
def test_prometheus_takes_only_names_of_labels(name):
    with pytest.raises(ValueError, match="is no name of a label"):
        dc_memtrace.prometheus({name: 1})


def test_opentelemetry_observes_each_figure(monkeypatch):
    metrics = types.SimpleNamespace(Observation=lambda value, attributes: (value, attributes))
    monkeypatch.setitem(sys.modules, "opentelemetry", types.ModuleType("opentelemetry"))
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", metrics)
    monkeypatch.setattr(_metrics, "peak", lambda: FIGURES)
    gauges = {}

    class Meter:
        def create_observable_gauge(self, name, callbacks, unit, description):
            assert (unit, bool(description)) == ("By", True)
            gauges[name] = callbacks

    dc_memtrace.opentelemetry(Meter(), {"rank": 3})
    (observe,) = gauges["dc_memtrace.allocated_bytes"]
    assert observe(None) == [(5, {"device": "cuda:0", "rank": 3}), (7, {"device": "cuda:1", "rank": 3})]
    (observe,) = gauges["dc_memtrace.resident_bytes"]
    assert observe(None) == [(300, {"rank": 3})]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> Recordings:
    folder = tmp_path_factory.mktemp("exports")
    (folder / "runs").mkdir()
    trace = written_trace.Trace(folder / "runs" / "one.dcmt")
    trace.lifetime("block", trace.next_seq(), None, address=64, bytes=4096)
    trace.save()
    trace.database.close()
    (folder / "secret.dcmt").write_text("outside")
    return Recordings(folder / "runs", recorded.TOOL)


def test_an_assistant_reads_recordings(recordings):
    assert recordings.traces() == ["one.dcmt"]
    assert "4.0 KiB" in recordings.report("one.dcmt")
    assert "4.0 KiB" in recordings.peak("one.dcmt", "site")
    assert recordings.query("one.dcmt", "SELECT bytes AS b FROM block") == {"columns": ["b"], "rows": [[4096]], "more": False}
    assert recordings.diff("one.dcmt", "one.dcmt")


@pytest.mark.parametrize("path", ["../secret.dcmt", "/etc/passwd", "absent.dcmt"])
def test_an_assistant_reads_nothing_else(recordings, path):
    for ask in (recordings.report, lambda path: recordings.query(path, "SELECT 1")):
        with pytest.raises(MemtraceError, match="there is no such recording"):
            ask(path)


@pytest.mark.parametrize(
    "sql",
    ["DELETE FROM block", "ATTACH 'x.db' AS x", "PRAGMA journal_mode = DELETE", "SELECT 1; SELECT 2", "SELECT load_extension('x')"],
)
def test_an_assistant_changes_nothing(recordings, sql):
    with pytest.raises(MemtraceError, match=r"^one.dcmt: "):
        recordings.query("one.dcmt", sql)
    assert recordings.query("one.dcmt", "SELECT count(*) FROM block")["rows"] == [[1]]


def test_a_query_is_bounded(recordings, monkeypatch):
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    answer = recordings.query("one.dcmt", numbers)
    assert (len(answer["rows"]), answer["more"]) == (1000, True)
    monkeypatch.setattr("dc_memtrace.mcp_server._MOST_SECONDS", 0.1)
    with pytest.raises(MemtraceError, match="interrupted"):
        recordings.query("one.dcmt", numbers.replace("SELECT i FROM", "SELECT max(i) FROM"))


def test_options_are_no_arguments(recordings):
    with pytest.raises(MemtraceError, match="options are not taken"):
        recordings.holders("one.dcmt", "--help")
    with pytest.raises(MemtraceError, match="by is one of"):
        recordings.peak("one.dcmt", "--json")


def test_without_the_protocols_package_a_line_says_so(tmp_path):
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError('mcp')")
    environment = recorded.environment()
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    environment["PATH"] = f"{recorded.TOOL.parent}:{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "dc_memtrace.mcp_server", tmp_path], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (2, "dc-memtrace: the protocol's package is missing: pip install mcp\n")
