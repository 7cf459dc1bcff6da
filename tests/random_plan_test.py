"""The simulation in programs/random_plan.py says what torch's own profiler says."""

from __future__ import annotations

import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent / "programs"))

import random_plan  # noqa: E402
import sample_operators as zero3  # noqa: E402

PLANS = 50


def measured_peak(runner: random_plan.Runner) -> int:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        runner.run()
    total = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            total += event.nbytes()
            peak = max(peak, total)
    assert total == 0, "the plan left bytes behind"
    return peak


@pytest.mark.parametrize("fixed", [False, True], ids=["defect", "fixed"])
def test_simulated_peak_is_the_measured_one(fixed):
    zero3.set_final_release(zero3.Release.STORAGE if fixed else zero3.Release.METADATA_ONLY)
    for seed in range(PLANS):
        plan = random_plan.make_plan(seed)
        measured = measured_peak(random_plan.Runner(seed, plan))
        assert measured == random_plan.simulate(plan, fixed)["peak"], f"seed {seed}"


def test_plans_differ_in_what_they_hold_and_the_fix_holds_nothing():
    plans = [random_plan.make_plan(seed) for seed in range(PLANS)]
    defect = [random_plan.simulate(plan, fixed=False) for plan in plans]
    fixed = [random_plan.simulate(plan, fixed=True) for plan in plans]
    assert all(run["held"] == 0 for run in fixed)
    assert sum(run["held"] > 0 for run in defect) > PLANS // 2
    assert sum(before["peak"] > after["peak"] for before, after in zip(defect, fixed)) > PLANS // 4
