"""The executor on one GPU, with simulated ranks on it, or as the only rank over NCCL: operators, streams and memory, and
training."""

from __future__ import annotations

import json
import os
import signal
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
    # Windows of symmetric memory are copied; multicast would only be one more thing that a platform may lack.
    path = f"{recorded.ROOT}/executor/python:{recorded.ROOT}/tests"
    return {**os.environ, "PYTHONPATH": path, "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", **more}


def processes(count: int, *command: object, seconds: int = 240) -> str:
    """The output of the processes. Those that are left after `seconds` are ended."""
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count))
    process = subprocess.Popen(
        [sys.executable, *torchrun, *map(str, command)],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        pytest.fail(f"not done after {seconds} s: {output[-2000:]}{errors[-4000:]}")
    assert process.returncode == 0, output[-2000:] + errors[-6000:]
    return output


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


OF_ANY_SIZE = [
    executor_cases.what_a_gather_returns, executor_cases.persistent, executor_cases.consumer_on_another_stream,
    executor_cases.i25_prefetched_and_never_waited_for, executor_cases.i26_consumers_on_other_streams,
    executor_cases.i27_refilled_while_earlier_consumers_wait, executor_cases.i31_gradients_dropped_at_once,
    executor_cases.i36_shards_go_to_the_host_and_back,
]  # fmt: skip


@pytest.mark.parametrize("gathers", [(), ("--symmetric",)], ids=["nccl", "symmetric"])
def test_the_only_rank_over_nccl(gathers):
    names = [case.__name__ for case in OF_ANY_SIZE]
    output = processes(1, recorded.ROOT / "tests" / "gpu" / "executor_cases.py", *gathers, *names)
    assert [line for line in output.splitlines() if line.startswith("passed: ")] == [f"passed: {one}" for one in names]


@pytest.mark.parametrize("gathers", [(), ("--symmetric",)], ids=["nccl", "symmetric"])
def test_the_only_rank_over_nccl_computes_the_bits_of_one_simulated_rank(gathers):
    steps = [one for one in TRAIN if one not in ("--ranks", "2")]
    output = processes(1, *steps, "--processes", *CUDA, *OPTIONS["all"], *gathers)
    assert json.loads(output.splitlines()[-1]) == training(*CUDA, *OPTIONS["all"], "--ranks", "1")
