"""dc-memtrace reproduce: what was recorded on a GPU is played again on the CPU."""

from __future__ import annotations

import pytest
import recorded
from executor_recorded_cuda_test import KEPT, OPTIONS
from executor_recorded_test import DEFECT, train
from replays import reproduce

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("switches", [(), DEFECT, (*DEFECT, *KEPT)], ids=["fixed", "defect", "kept"])
def test_training_on_a_gpu_is_reproduced_on_the_cpu(tmp_path, switches):
    train(tmp_path, *OPTIONS, *switches)
    (trace,) = recorded.traces(tmp_path)
    for step in (0, 1):
        (replay,) = reproduce(trace, "--step", step)
        assert replay["reproduced"], replay["difference"]
        assert replay["replayed_verdicts"] == replay["recorded_verdicts"]
        assert replay["replayed_peak_bytes"] == replay["recorded_peak_bytes"]
