"""The sample of a zero-bubble pipeline: the holder of the graphs, and the peak without them."""

from __future__ import annotations

import pytest
import recorded

TRAIN = recorded.ROOT / "samples" / "zero_bubble" / "train.py"
ACTIVATION = 256 * 512 * 4


def peak_of(folder, *switches: str) -> tuple[int, int]:
    """The peak, and the part of it that graphs of outputs hold."""
    recorded.record(folder, "-W", "ignore", TRAIN, *switches)
    peak = recorded.report(recorded.traces(folder)[0])[0]["peak"]
    graphs = [group["bytes"] for group in peak["by_holder"] if group["name"].startswith("main: stage.outputs[*].grad_fn")]
    return peak["bytes"], sum(graphs)


@pytest.fixture(scope="module")
def fixed_peak(tmp_path_factory):
    peak, graphs = peak_of(tmp_path_factory.mktemp("fixed") / "out", "--detached")
    assert graphs == 0
    return peak


def test_the_list_is_named_that_keeps_the_graphs(tmp_path, fixed_peak):
    """On a busy machine the recorder may not run while there are graphs: the test is repeated up to twice."""
    for attempt in range(3):
        peak, graphs = peak_of(tmp_path / f"out{attempt}")
        assert peak - fixed_peak == 27 * ACTIVATION
        if graphs:
            break
    assert 27 * ACTIVATION <= graphs <= 0.8 * peak
