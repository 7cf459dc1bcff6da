"""The memory of a pipeline's stage, in units that follow from its shape: pytest -p dc_memtrace.pytest_plugin samples/pipeline_stage"""

from __future__ import annotations

import pytest
import torch

from stage import Stage, input_gradient, weight_gradients

ROWS, HIDDEN, LAYERS = 256, 128, 4
ACTIVATION = ROWS * HIDDEN * 4
WEIGHT = HIDDEN * HIDDEN * 4
NUMBERS = 256  # bytes: torch makes small tensors of numbers


@pytest.fixture(params=[False, True], ids=["plain", "checkpointed"])
def stage(request):
    torch.set_num_threads(1)
    return Stage(HIDDEN, LAYERS, request.param)


@pytest.fixture
def inputs():
    return torch.ones(ROWS, HIDDEN, requires_grad=True)


@pytest.fixture
def gradient():
    return torch.ones(ROWS, HIDDEN)


def test_forward_and_split_backward(memory_ledger, stage, inputs, gradient):
    with memory_ledger.phase("forward"):
        output = stage(inputs)
    with memory_ledger.phase("input gradient"):
        sent = input_gradient(output, inputs, gradient)
    with memory_ledger.phase("weight gradients"):
        weight_gradients(output, stage, gradient)
    del sent
    forward, early, late = (memory_ledger[name] for name in ("forward", "input gradient", "weight gradients"))

    # What each tanh gives is saved, by it and by the linear layer after it; the last one is the output.
    kept = 1 if stage.checkpointed else LAYERS
    assert forward.net == kept * ACTIVATION
    assert [each.bytes for each in forward.survivors] == [ACTIVATION] * kept
    # Besides it, what the layer at work has.
    most = 2 if stage.checkpointed else LAYERS + 1
    assert 0 <= forward.peak - most * ACTIVATION < NUMBERS

    # One gradient is sent. A checkpoint computes the activations again, each until it has been used.
    assert early.net == ACTIVATION
    most = LAYERS + 1 if stage.checkpointed else 2
    assert 0 <= early.peak - most * ACTIVATION < NUMBERS, early.peak / ACTIVATION

    # The weights have their gradients, and what was saved goes, but for the output.
    assert late.net == LAYERS * WEIGHT - (kept - 1) * ACTIVATION


@pytest.mark.no_residual_references
def test_a_step_leaves_nothing_but_gradients(stage, inputs, gradient):
    output = stage(inputs)
    input_gradient(output, inputs, gradient)
    weight_gradients(output, stage, gradient)


@pytest.mark.peak_memory(6 * ACTIVATION + LAYERS * WEIGHT + NUMBERS)
def test_peak_of_a_step(stage, inputs, gradient):
    output = stage(inputs)
    input_gradient(output, inputs, gradient)
    weight_gradients(output, stage, gradient)
