"""On a GPU, too, the predicted peak with checkpoints is the measured one of the program that has them."""

from __future__ import annotations

import checkpoints
import pytest

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("model", "modules"), checkpoints.CASES)
def test_the_peak_is_that_of_the_program_with_checkpoints(model, modules, tmp_path):
    peaks = checkpoints.peaks(tmp_path, model, modules, "cuda")
    assert abs(peaks.predicted - peaks.measured) <= (0.08 if model == "encoder" else 0.03) * peaks.measured, peaks
    assert "runs again" not in peaks.text, "the time on the GPU is not known"
