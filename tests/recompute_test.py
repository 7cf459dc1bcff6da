"""The predicted peak with checkpoints is the measured one of the program that has them."""

from __future__ import annotations

import checkpoints
import pytest
import recorded


@pytest.mark.parametrize(("model", "modules"), recorded.some(checkpoints.CASES, 5))
def test_the_peak_is_that_of_the_program_with_checkpoints(model, modules, tmp_path):
    peaks = checkpoints.peaks(tmp_path, model, modules, "cpu")
    assert peaks.measured < 0.95 * peaks.without, "the checkpoints lower the peak"
    assert abs(peaks.predicted - peaks.measured) <= (0.03 if model == "unet" else 0.01) * peaks.measured
    assert f" model.{modules}\n" in peaks.text and "torch.utils.checkpoint" in peaks.text
