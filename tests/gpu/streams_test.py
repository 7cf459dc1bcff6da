"""Freed blocks that wait for a stream, and pools of streams: found, with torch's own figures, and not in the fixes."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "cuda_streams.py"
BYTES = 256 * 1024 * 1024
STREAMS = 8
CLOCK_NS = 1_000_000  # how far the trace's clock may be off
BUFFER_LINE = next(
    number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "return torch.empty(BYTES" in line
)


def printed_by(done) -> dict:
    return json.loads(done.stdout.splitlines()[-1])


def run(folder, *arguments: str, detail: str = "full") -> tuple[dict, dict]:
    """Records the program; what it printed, and the report."""
    done = recorded.record(folder, PROGRAM, *arguments, detail=detail, timeout=400)
    (report,) = recorded.report(folder)
    return printed_by(done), report


def check_peaks(report: dict, counts: dict[str, int]) -> None:
    """The whole run has had its peaks when the program counts."""
    assert report["peak"]["device"] == "cuda:0"
    assert report["peak"]["bytes"] == counts["allocated_bytes.all.peak"]
    assert report["peak"]["active_bytes"] == counts["active_bytes.all.peak"]
    assert report["peak"]["reserved_bytes"] == counts["reserved_bytes.all.peak"]


def test_what_waits_for_a_stream_at_the_peak_is_found(tmp_path):
    printed, report = run(tmp_path / "run", "waits")
    counts, times = printed["counts"], printed["times"]
    assert counts["active_bytes.all.current"] - counts["allocated_bytes.all.current"] == BYTES, "the program's premise"
    assert counts["active_bytes.all.current"] == counts["active_bytes.all.peak"]
    check_peaks(report, printed["final"])

    (finding,) = report["findings"]
    assert (finding["rule"], finding["classes"]) == ("awaits_stream", ["D08"])
    waits = finding["waits"]
    assert waits["device"] == "cuda:0"
    assert waits["active_bytes"] == waits["run_active_bytes"] == counts["active_bytes.all.peak"]
    assert waits["waiting_bytes"] == waits["most_waiting_bytes"] == finding["bytes"] == BYTES
    assert waits["without_waits_bytes"] == printed["final"]["allocated_bytes.all.peak"]
    assert (waits["blocks"], waits["frees_that_waited"]) == (1, 1)
    shortest = times["before_done"] - times["after_free"]
    longest = times["after_done"] - times["before_free"]
    assert shortest - CLOCK_NS <= waits["longest_ns"] <= longest + CLOCK_NS
    assert waits["median_ns"] == waits["longest_ns"]
    (site,) = waits["sites"]
    assert site["site"].endswith(f"cuda_streams.py:{BUFFER_LINE} buffer")
    assert (site["stream"], site["bytes"], site["blocks"]) == (0, BYTES, 1)

    (trace,) = recorded.traces(tmp_path / "run")
    assert recorded.query(
        trace, "SELECT id, bytes, stream, done_seq > to_seq, done_ns - to_ns FROM block WHERE wait_seq_length IS NOT NULL"
    ) == [(site["largest_block"], BYTES, 0, 1, waits["longest_ns"])]
    text = recorded.tool("report", tmp_path / "run").stdout
    assert "FREED, WAITS FOR A STREAM  (D08)" in text
    assert "1 block, 33.3 % of the" in text


def test_pools_of_streams_are_found(tmp_path):
    printed, report = run(tmp_path / "run", "pools")
    counts = printed["counts"]
    assert counts["reserved_bytes.all.current"] >= STREAMS * BYTES, "the program's premise"
    check_peaks(report, printed["final"])

    (finding,) = report["findings"]
    assert (finding["rule"], finding["classes"]) == ("fragmented", ["D09"])
    pools = finding["fragmentation"]
    assert pools["device"] == "cuda:0"
    assert pools["reserved_bytes"] == counts["reserved_bytes.all.peak"]
    assert pools["active_bytes"] == counts["active_bytes.all.peak"]
    assert pools["idle_bytes"] == pools["reserved_bytes"] - pools["active_bytes"]
    assert pools["by_streams_bytes"] == (STREAMS - 1) * BYTES
    best = pools["remedies"][0]
    assert (best["kind"], best["helps"]) == ("one stream", True)
    assert finding["bytes"] == best["gives_back_bytes"] == (STREAMS - 1) * BYTES
    assert pools["blocks_without_stream"] <= 1, "the block that made the tool follow the allocator"
    assert [pool["peak_bytes"] for pool in pools["streams"]][:STREAMS] == [BYTES] * STREAMS
    assert [pool["stream"] for pool in pools["streams"]][STREAMS:] == [0]
    (site,) = pools["sites"]
    assert site["site"].endswith(f"cuda_streams.py:{BUFFER_LINE} buffer")
    assert (site["streams"], site["bytes"]) == (STREAMS, STREAMS * BYTES)
    assert "FRAGMENTED  (D09)" in recorded.tool("report", tmp_path / "run").stdout


@pytest.mark.parametrize("case", ["waits", "pools"])
def test_the_fix_has_none(case, tmp_path):
    printed, report = run(tmp_path / "run", case, "--fixed")
    counts = printed["counts"]
    check_peaks(report, printed["final"])
    assert report["findings"] == []
    assert counts["active_bytes.all.peak"] == counts["allocated_bytes.all.peak"]
    assert counts["reserved_bytes.all.peak"] < (3 if case == "waits" else 2) * BYTES
    (trace,) = recorded.traces(tmp_path / "run")
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE wait_seq_length IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("case", ["waits", "pools"])
def test_detail_lifetimes_does_not_record_it_and_says_nothing(case, tmp_path):
    _, report = run(tmp_path / "run", case, detail="lifetimes")
    assert report["findings"] == []
    assert report["peak"]["active_bytes"] is None
    (trace,) = recorded.traces(tmp_path / "run")
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE stream IS NOT NULL") == [(0,)]


@pytest.mark.parametrize("case", ["waits", "pools"])
def test_torch_counts_the_same_without_the_tool(case, tmp_path):
    plain = recorded.python(PROGRAM, case)
    assert plain.returncode == 0, plain.stderr
    printed, _ = run(tmp_path / "run", case)
    assert printed["counts"] == printed_by(plain)["counts"]
