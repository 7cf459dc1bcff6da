"""The executor over NCCL: two processes with a GPU each. Every run is under a watchdog: a lost collective never ends."""

from __future__ import annotations

import json
import subprocess
import sys

import executor_cases
import pytest
import recorded
from executor_cuda_test import CUDA, OPTIONS, TRAIN, environment, processes

pytestmark = pytest.mark.multigpu


def two_processes(*command: object) -> str:
    return processes(2, *command)


def training(*options: str) -> dict:
    steps = [one for one in TRAIN if one not in ("--ranks", "2")]
    return json.loads(two_processes(*steps, "--processes", *CUDA, *options).splitlines()[-1])


@pytest.fixture(scope="module")
def over_nccl() -> dict:
    return training()


@pytest.mark.parametrize("name", executor_cases.CASES)
def test_over_nccl(name):
    output = two_processes(recorded.ROOT / "tests" / "gpu" / "executor_cases.py", name)
    assert output.count(f"passed: {name}") == 2


def test_a_world_can_be_left_and_entered_again():
    names = ["single_use", "errors_leave_a_usable_state"] * 3
    output = two_processes(recorded.ROOT / "tests" / "gpu" / "executor_cases.py", *names)
    assert output.count("passed: ") == 2 * len(names)


def test_processes_compute_the_bits_that_simulated_ranks_compute(over_nccl):
    """A sum of two has one value."""
    simulated = subprocess.run(
        [sys.executable, *TRAIN, *CUDA], env=environment(), capture_output=True, text=True, timeout=300
    )
    assert simulated.returncode == 0, simulated.stderr
    assert over_nccl == json.loads(simulated.stdout)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_change_no_number(over_nccl, options):
    assert training(*options) == over_nccl


def test_gathers_through_symmetric_memory_change_no_number(over_nccl):
    """On two GPUs that reach each other's memory; where they do not, init_nccl says so, and this fails."""
    assert training("--symmetric") == over_nccl
    assert training("--symmetric", *OPTIONS["all"]) == over_nccl


def test_bfloat16_computes_the_same_on_simulated_ranks():
    simulated = subprocess.run(
        [sys.executable, *TRAIN, *CUDA, "--bf16"], env=environment(), capture_output=True, text=True, timeout=300
    )
    assert simulated.returncode == 0, simulated.stderr
    assert training("--bf16") == json.loads(simulated.stdout)
