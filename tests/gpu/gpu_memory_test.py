"""What is in use of a GPU's memory: what CUDA says in the program at the same time, and what torch has reserved."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "gpu_memory.py"
APART = 50_000_000  # nanoseconds between a sample and the readings of the program beside it
MIB = 1 << 20


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_samples_are_what_cuda_says(detail, tmp_path):
    done = recorded.record(tmp_path / "run", PROGRAM, detail=detail)
    printed = json.loads(done.stdout.splitlines()[-1])
    (trace,) = recorded.traces(tmp_path / "run")
    samples = recorded.query(trace, "SELECT ns, used, reserved, total FROM gpu_memory WHERE device = 'cuda:0'")
    begins, ends, reserved = zip(*printed["steps"], strict=True)
    compared = {step: 0 for step in range(len(begins))}
    for ns, used, torch_reserved, total in samples:
        # Other programs use the GPU, too: their memory comes and goes.
        beside = [bytes_ for at, bytes_ in printed["readings"] if abs(at - ns) < APART]
        step = next((i for i in compared if begins[i] + APART < ns < ends[i] - APART), None)
        if step is None:
            continue
        compared[step] += 1
        assert min(beside) - 8 * MIB <= used <= max(beside) + 8 * MIB, (step, used, min(beside), max(beside))
        assert torch_reserved == reserved[step]
        assert used < total
    assert min(compared.values()) >= 1, compared
    # The view is made of these samples.
    (view,) = json.loads(recorded.tool("show", "memory", "--json", tmp_path / "run").stdout)["traces"]
    (gpu,) = view["gpus"]
    assert gpu["samples"] == len(samples)
    at = {each["step"]: each for each in gpu["steps"]}
    first, last = at[1], at[len(begins) - 2]  # the last step has ended when the program ends
    for each in (first, last):
        of_process = each["process_bytes"] or each["used_bytes"]
        assert each["outside_bytes"] == of_process - each["reserved_bytes"]
    assert first["reserved_bytes"] == last["reserved_bytes"] == reserved[-1]
    assert last["outside_bytes"] - first["outside_bytes"] == printed["beside"]
