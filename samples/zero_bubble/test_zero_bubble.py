"""The sample keeps what it claims and the fix removes it, without dc-memtrace."""

from __future__ import annotations

import pathlib
import runpy
import sys

TRAIN = str(pathlib.Path(__file__).with_name("train.py"))
MICRO_BATCHES, BLOCKS, ACTIVATION = 8, 4, 256 * 512 * 4


def outputs_of(monkeypatch, *switches: str) -> list:
    monkeypatch.setattr(sys, "argv", [TRAIN, *switches])
    return runpy.run_path(TRAIN)["main"]().outputs


def saved_bytes(outputs: list) -> int:
    """Of the sigmoids' results in the graphs behind the outputs."""
    nodes, saved = [out.grad_fn for out in outputs], {}
    met = set(nodes)
    while nodes:
        node = nodes.pop()
        if node.name() == "SigmoidBackward0":
            saved[node._saved_result.data_ptr()] = node._saved_result.untyped_storage().nbytes()
        more = {next_node for next_node, _ in node.next_functions if next_node is not None} - met
        met |= more
        nodes += more
    return sum(saved.values())


def test_each_output_keeps_what_its_graph_had_saved(monkeypatch):
    outputs = outputs_of(monkeypatch)
    assert len(outputs) == MICRO_BATCHES
    assert saved_bytes(outputs) == MICRO_BATCHES * BLOCKS * ACTIVATION


def test_detached_outputs_keep_no_graph(monkeypatch):
    outputs = outputs_of(monkeypatch, "--detached")
    assert len(outputs) == MICRO_BATCHES and all(out.grad_fn is None for out in outputs)
