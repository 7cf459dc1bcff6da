"""The predicted peak with checkpoints is the measured one of the program that has them."""

from __future__ import annotations

import json

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "checkpointed.py"
CASES = [
    ("gpt", "layers.*"), ("mixer", "blocks.*.tokens"), ("resnet", "blocks.*"), ("dropout", "layers.*"), ("mixer", "blocks.*.channels"),
    ("encoder", "encoder.layers.*"), ("gpt", "layers.*.mlp"), ("gpt", "layers.*.attention"), ("sigmoids", "*"),
]


def record(folder, *arguments):
    recorded.record(folder, PROGRAM, *arguments)
    (trace,) = recorded.traces(folder)
    return trace


def shown(trace, *view):
    (one,) = json.loads(recorded.tool("show", *view, "--json", trace).stdout)["traces"]
    return one


@pytest.mark.parametrize(("model", "modules"), recorded.some(CASES, 5))
def test_the_peak_is_that_of_the_program_with_checkpoints(model, modules, tmp_path):
    plain = record(tmp_path / "plain", model)
    recompute = shown(plain, "recompute")
    (choice,) = [each for each in recompute["choices"] if each["modules"] == f"model.{modules}"]
    measured = shown(record(tmp_path / "checkpointed", model, modules), "peak")["peak"]["bytes"]
    assert measured < 0.95 * recompute["peak_bytes"], "the checkpoints lower the peak"
    assert abs(choice["peak_bytes"] - measured) <= 0.01 * measured
    text = recorded.tool("show", "recompute", plain).stdout
    assert f" model.{modules}\n" in text and "torch.utils.checkpoint" in text
