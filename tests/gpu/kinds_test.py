"""Twelve kinds of training on a GPU (`kinds/train.py`): healthy, the peak's parts equal the program's own count and at most
2 % is not attributed; with a tensor kept in each step, the first finding names who keeps it."""

from __future__ import annotations

import json
import os
import random
import sys

import pytest
import recorded

sys.path.insert(0, str(recorded.ROOT / "tests" / "ordinary"))
import leaks  # noqa: E402

pytestmark = pytest.mark.gpu
PROGRAM = recorded.ROOT / "tests" / "gpu" / "kinds" / "train.py"
KINDS = ["trainer", "lightning", "vision", "lora", "graph_network", "compiled", "cuda_graph", "sharded", "streams", "gan",
         "flex_attention", "short_steps"]  # fmt: skip
SEED = int(os.environ.get("DCMT_SEED", "1"))


def record(folder, *arguments) -> tuple[dict, dict]:
    """The report of the process that used the GPU, and the program's count."""
    done = recorded.record(folder, PROGRAM, *arguments, timeout=400)
    report = max(recorded.report(folder), key=lambda trace: trace["peak"]["bytes"])
    return report, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_peak_of_a_healthy_program_is_what_the_program_counts(kind, tmp_path):
    report, counted = record(tmp_path / "out", kind)
    peak = report["peak"]["bytes"]
    parts = {part["name"]: part["bytes"] for part in report["peak"]["by_category"]}
    print(kind, peak, parts, counted, report["findings"])
    assert report["findings"] == []
    if report["peak"]["step"] == 0:  # before gradients and optimizer state were there
        counted = {"parameter": counted["parameter"]}
    # A backward has gradients beside those of the parameters: those that it adds to them, and their sums.
    in_flight = max(0, parts.get("gradient", 0) - counted.get("gradient", 0))
    assert {name: parts.get(name, 0) - in_flight * (name == "gradient") for name in counted} == counted
    assert in_flight <= 2 * parts["parameter"]
    assert parts.get("not attributed", 0) <= 0.02 * peak


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_kept_in_each_step_is_named_first(kind, tmp_path):
    draw = random.Random(f"{SEED} {kind}")
    # Hooks of a module do not run where its code is compiled or captured.
    way = draw.choice([way for way in leaks.WAYS if way != "hook" or kind not in ("compiled", "cuda_graph")])
    report, _ = record(tmp_path / "out", kind, way)
    holders = [(finding["growth"] or {}).get("holder", finding["identity"]["holder"]) for finding in report["findings"]]
    print(kind, way, holders)
    assert holders and leaks.HOLDERS[way] in holders[0], report["findings"] or report["remarks"]
