"""Tests of memory as people write them. Those called `fails_...` have the defect that they test for."""

import collections
import functools
import logging

import pytest
import torch

import dc_memtrace

KIB = 1024
CACHE = []
LOSSES = {}
RECENT = collections.deque(maxlen=2)


def made(kib: int) -> torch.Tensor:
    return torch.ones(kib * KIB // 4)


class Model:
    def __init__(self) -> None:
        self.weight = made(2048).requires_grad_()
        self.last = None

    def __call__(self, kib: int) -> torch.Tensor:
        self.last = made(kib)
        return (self.last * 2).sum()


@pytest.fixture(scope="session")
def shared():
    return Model()


@pytest.fixture
def model():
    yield Model()


@pytest.mark.peak_memory("24 MiB")
def test_peak():
    made(12 * KIB)
    made(12 * KIB)


@pytest.mark.peak_memory("24 MiB")
def test_fails_peak():
    first = made(12 * KIB)
    second = made(13 * KIB)
    del first, second


@pytest.mark.peak_memory("1 MiB", device="cpu")
def test_what_fixtures_made_is_not_the_tests(model):
    assert model.weight.numel() == 2048 * KIB // 4
    made(1000)


@pytest.mark.no_growth
def test_a_cache_with_a_bound():
    RECENT.append(made(100))


@pytest.mark.no_growth(rounds=6)
def test_fails_growth():
    CACHE.append(made(100))


class Trainer:
    def __init__(self) -> None:
        self.weight = made(4).requires_grad_()
        self.outputs, self.losses, self.rows, self.numbers = [], [], [], []
        self.last = {}

    def loss(self) -> torch.Tensor:
        output = self.weight * 2
        self.last = {"output": output.detach(), "rows": list(range(1000))}
        return output.sum()


@pytest.fixture
def trainer() -> Trainer:
    return Trainer()


@pytest.mark.no_growth(rounds=6)
def test_fails_fixture(trainer):
    trainer.outputs.append(made(100))
    trainer.losses.append(trainer.loss())
    trainer.losses[-1].backward()
    trainer.rows.append([{"row": i} for i in range(1000)])


@pytest.mark.no_growth(rounds=6)
def test_a_fixture_that_counts(trainer, caplog):
    loss = trainer.loss()
    loss.backward()
    trainer.numbers.append(loss.item())
    with caplog.at_level("INFO"):
        for number in range(40):
            logging.getLogger("trainer").info("%s %s", "loss" * 10, str(loss.item()) * number)


@pytest.mark.no_residual_references
def test_nothing_stays(model, shared):
    local = made(100)
    cycle = [made(101)]
    cycle.append(cycle)
    model(102).backward
    shared(103)
    shared.weight.sum().backward()
    with pytest.raises(ZeroDivisionError) as caught:
        made(104)[0] / (1 // 0)
    assert caught.value is not None and local is not None


@functools.lru_cache
def scaled(kib: int) -> torch.Tensor:
    return made(kib) * 2


@pytest.mark.no_residual_references(allow="test_memory.CACHE[*")
def test_fails_residual():
    scaled(100)
    LOSSES["last"] = made(101).requires_grad_().exp().sum()
    CACHE.append(made(102))


@pytest.mark.no_residual_references
def test_fails_by_itself():
    CACHE.append(made(100))
    assert len(CACHE) == 0


def test_ledger(memory_ledger):
    weight = made(100).requires_grad_()
    with memory_ledger.phase("forward"):
        loss = (weight * 2).exp().sum()
    with memory_ledger.phase("backward"):
        loss.backward()
    with memory_ledger.phase("end"):
        del loss
        weight.grad = None
    forward, backward, end = (memory_ledger[name] for name in ("forward", "backward", "end"))
    # The product goes, what exp() gave is saved, and the sum is a number. Torch makes tensors of numbers like 2, too.
    assert forward.net == forward.allocated - forward.freed
    for figure, kib in ((forward.allocated, 200), (forward.freed, 100), (forward.net, 100), (forward.peak, 200)):
        assert 0 <= figure - kib * KIB < 64
    assert [each.bytes for each in forward.survivors if each.bytes > 64] == [100 * KIB]
    assert forward.survivors[0].site.startswith("test_memory.py:") and forward.survivors[0].site.endswith(" test_ledger")
    # The gradient stays, what was saved goes.
    assert backward.survivors[0].bytes == 100 * KIB
    assert abs(backward.net) < 64
    assert (end.allocated, end.net) == (0, -100 * KIB - 4)
    assert end.survivors == ()
    # A reading of the memory names the holder if it falls into the phases: one that comes later finds nothing.
    holder = forward.survivors[0].holder
    assert holder is None or holder.endswith("ExpBackward0._saved_result")
    with pytest.raises(KeyError):
        memory_ledger["other"]
    with pytest.raises(dc_memtrace.MemtraceError, match="has been read"):
        with memory_ledger.phase("late"):
            pass


def check_released(tensor: torch.Tensor) -> None:
    dc_memtrace.assert_released(tensor)


def test_released(model):
    loss = (model.weight * 2).sum()
    loss.backward()
    check_released(loss)
    del loss
    dc_memtrace.assert_released(model.weight)


def test_fails_list():
    loss = made(100)
    first = loss[0]
    CACHE.append(loss)
    dc_memtrace.assert_released(loss)
    del first


def test_fails_graph():
    value = made(100).requires_grad_() * 2
    loss = value.square().sum()
    dc_memtrace.assert_released(value)
    del loss


def test_left_alone():
    assert not dc_memtrace.recording()
