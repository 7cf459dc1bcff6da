"""A weight that is released between forward and backward: its reader, its release and its gather are reported."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "use_after_release.py"
KEY = 3


def record(folder, *switches: str):
    return recorded.record(folder, PROGRAM, *switches, flags=recorded.SAMPLE_OPERATORS)


def use_after_release(folder) -> list[dict]:
    (seen,) = recorded.report(folder)
    return [finding for finding in seen["findings"] if "D24" in finding["classes"]]


@pytest.mark.parametrize("switch", [[], ["--keep-data"]], ids=["data gone", "data kept"])
def test_released_too_early(tmp_path, switch):
    record(tmp_path / "out", *switch)
    (finding,) = use_after_release(tmp_path / "out")
    item = finding["items"][0]
    assert item["key"]["key"] == KEY
    assert item["reads"][0]["name"] == "aten::native_layer_norm_backward"
    assert item["release"]["name"] == "zero3_sample::release_param"
    assert item["gather"]["name"] == "zero3_sample::allgather_param"

    def functions(by):
        return [frame["function"] for frame in by["stack"]]

    assert "release" in functions(item["release"]["by"])
    assert "gather" in functions(item["gather"]["by"])
    assert "step" in functions(item["reads"][0]["by"])


def test_a_backward_that_stops_at_a_view_is_found_too(tmp_path):
    run = record(tmp_path / "out", "--linear")
    assert "out of bounds" in run.stdout
    (finding,) = use_after_release(tmp_path / "out")
    assert finding["items"][0]["reads"][0]["name"] in ("aten::t", "aten::transpose", "aten::as_strided")
    assert finding["items"][0]["reads"][0]["bytes"] == 0
    record(tmp_path / "late", "--linear", "--late")
    assert use_after_release(tmp_path / "late") == []


def test_released_after_the_last_use(tmp_path):
    record(tmp_path / "out", "--late")
    assert use_after_release(tmp_path / "out") == []
    (seen,) = recorded.report(tmp_path / "out")
    assert seen["releases"]["total"] == 3


# Graphs 0 and 1: two parts of one buffer, gathered in both orders. Graph 2: the very next operator reads.
SMALL_READS = """
import torch, dc_memtrace as dm
for graph, order in enumerate([(0, 1), (1, 0)]):
    buffer = torch.ones(40_000)
    parts = buffer.split(20_000)
    for key in order:
        dm.gather(key, parts[key], graph=graph)
    with dm.release(1, graph=graph):
        parts[1].data = torch.empty(0)
    parts[1].mul_(2)
    dm.release(0, graph=graph)
    torch.ones(2)
weight = torch.ones(20_000)
dm.gather(1, weight, graph=2)
dm.release(1, graph=2)
weight.mul_(2)
"""


@pytest.fixture(scope="module")
def small_reads(tmp_path_factory):
    """Key and bytes of the reads in each graph."""
    trace = recorded.trace_of_text(tmp_path_factory.mktemp("reads"), SMALL_READS, "lifetimes")
    rows = recorded.query(trace, "SELECT graph, key, bytes FROM mark WHERE kind = 'read' ORDER BY from_seq")
    return lambda graph: [row[1:] for row in rows if row[0] == graph]


@pytest.mark.parametrize("graph", [0, 1])
def test_of_several_in_one_buffer_the_one_that_was_released_is_read(small_reads, graph):
    assert small_reads(graph) == [(1, 0)]


def test_the_very_next_operator_reads(small_reads):
    assert small_reads(2) == [(1, 80_000)]
