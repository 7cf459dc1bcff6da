"""The executor on one GPU, with simulated ranks on it: operators, streams and memory, and training."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import executor_cases
import pytest
import recorded
import torch
from zero3_ranks import run

pytestmark = pytest.mark.gpu
TRAIN = ("-m", "dcmt_zero3.train", "--steps", "20", "--ranks", "2")
CUDA = ("--device", "cuda")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{recorded.ROOT}/executor/python:{recorded.ROOT}/tests", **more}


def training(*options: str) -> dict:
    done = subprocess.run(
        [sys.executable, *TRAIN, *options], env=environment(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def on_gpu() -> dict:
    return training(*CUDA)


@pytest.mark.parametrize("name", executor_cases.CASES)
def test_on_simulated_ranks(name):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    run(2, executor_cases.CASES[name], device=torch.device("cuda"))
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before, "cleanup lets go of everything"


@pytest.mark.parametrize("file", ["cycle", "reduce", "life"])
def test_what_holds_on_the_cpu_holds_on_the_gpu(file):
    """The same tests, with all tensors on the GPU."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-k", "not c_plus_plus"]
    done = subprocess.run(
        [*command, recorded.ROOT / "tests" / f"executor_{file}_test.py"],
        env=environment(DCMT_TEST_DEVICE="cuda"), capture_output=True, text=True, timeout=550,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:]


def test_training_computes_what_it_computes_on_the_cpu(on_gpu):
    wanted = training()
    for ours, theirs in zip(on_gpu["losses"], wanted["losses"], strict=True):
        assert [float.fromhex(one) for one in ours] == pytest.approx([float.fromhex(one) for one in theirs], rel=1e-3)
    assert on_gpu["events"] == []


OPTIONS = {
    "again": (),
    "prefetch": ("--prefetch", "2"),
    "persistent": ("--persistent-below", "600"),
    "offload": ("--offload",),
    "small bucket": ("--bucket", "700"),
    "all": ("--prefetch", "1", "--persistent-below", "600", "--offload", "--bucket", "3000"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_change_no_number(on_gpu, options):
    assert training(*CUDA, *options) == on_gpu


def test_graphs_compute_the_same_without_and_with_reused_buffers():
    graphs = training(*CUDA, "--compiled")
    assert training(*CUDA, "--compiled", "--reuse-buffers") == graphs
    assert graphs["events"] == []


def test_a_known_defect_is_noticed_on_the_gpu(on_gpu):
    found = training(*CUDA, "--switch", "release_clears_tensor_only", "--switch", "wrapper_keeps_aliases")
    assert found["losses"] == on_gpu["losses"] and found["sha256"] == on_gpu["sha256"]
    assert len(found["events"]) > 0 and {event["kind"] for event in found["events"]} == {0}
