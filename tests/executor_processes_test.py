"""Training over a gloo group of processes equals training on simulated ranks, and each process has its own trace."""

from __future__ import annotations

import json
import sys

import pytest
import recorded
from executor_recorded_test import environment, residual_in_trace

TRAIN = ("-m", "dcmt_zero3.train", "--steps", "3", "--layers", "1")


def torchrun(ranks: int) -> tuple[str, ...]:
    return ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))


@recorded.for_soak
@pytest.mark.parametrize("ranks, options", recorded.some([(2, ("--bf16", "--offload")), (3, ("--prefetch", "1"))], 2))
def test_processes_compute_the_bits_that_simulated_ranks_compute(ranks, options):
    processes = recorded.python(*torchrun(ranks), *TRAIN, "--processes", *options, env=environment())
    assert processes.returncode == 0, processes.stderr
    simulated = recorded.python(*TRAIN, "--ranks", ranks, *options, env=environment())
    wanted = json.loads(simulated.stdout)
    del wanted["peaks"]
    assert json.loads(processes.stdout) == wanted


def test_symmetric_memory_is_for_processes_on_gpus():
    done = recorded.python(*TRAIN, "--symmetric", env=environment())
    assert (done.returncode, done.stdout) == (2, "")
    assert "--symmetric needs --processes and --device cuda" in done.stderr


# A unit's last weight has no name left at the next operator, but gloo's thread may still hold the buffer briefly.
LAST_OF_A_UNIT = (1, 13, 17)


@recorded.for_soak
def test_each_process_has_its_own_residual_releases(tmp_path):
    command = (*torchrun(2), *TRAIN, "--processes", "--switch", "release_clears_tensor_only")
    done = recorded.tool("run", "-o", tmp_path, "--", sys.executable, *command, env=environment())
    assert done.returncode == 0, done.stderr
    events = json.loads(done.stdout)["events"]
    known = sorted((e["graph"], e["id"], e["value"]) for e in events if e["id"] not in LAST_OF_A_UNIT)
    traces = recorded.traces(tmp_path)
    assert sorted(int(recorded.meta(trace)["rank"]) for trace in traces) == [0, 1]
    for trace in traces:
        seen = [release for release in residual_in_trace(trace) if release[1] not in LAST_OF_A_UNIT]
        assert len(seen) == 15 * 3 * 2 * 2  # weights, steps, micro-batches, forward and backward
        assert sorted(seen) == known[::2] == known[1::2]
