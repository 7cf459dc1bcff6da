"""An evaluation outside of torch.no_grad() keeps the graphs of its outputs: the finding, and the peak without them, which
is measured with a twin. The list is gone at the end of each evaluation."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = """\
import contextlib, sys, torch
from torch import nn


def evaluate(net, batches, guard):
    outs = []
    for _ in range(batches):
        with guard():
            out = net(torch.randn(512, 256))
        outs.append(out)
    return torch.cat(outs).mean().item()


torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(3):
    for _ in range(10):
        net(torch.randn(64, 256)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    evaluate(net, 20, torch.no_grad if sys.argv[1] == "guarded" else contextlib.nullcontext)
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluation")
    (folder / "evaluation.py").write_text(PROGRAM)
    result = {}
    for kind in ("open", "guarded"):
        recorded.record(folder / kind, folder / "evaluation.py", kind)
        (result[kind],) = recorded.report(folder / kind)
    return result


def test_the_graphs_are_found_and_no_variable_is_named(reports):
    (finding,) = reports["open"]["findings"]
    assert finding["rule"] == "graphs_without_backward" and finding["classes"] == ["D02"]
    # On a busy machine, the readings have ended before several outputs are in the list.
    assert finding["growth"]["holder"] in ("evaluate: outs", "evaluate: outs[*]", "")
    assert "torch.no_grad()" in finding["fix"]


def test_the_peak_without_it_is_that_of_the_twin(reports):
    assert reports["guarded"]["findings"] == []
    measured = reports["guarded"]["peak"]["bytes"]
    assert measured < reports["open"]["peak"]["bytes"] / 4
    assert reports["open"]["peak"]["predicted_bytes"] == pytest.approx(measured, rel=0.01)
