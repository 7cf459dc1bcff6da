"""The sample has the defects it claims and the fix removes them, without dc-memtrace."""

from __future__ import annotations

import math

import pytest

import train
from dcmt_zero3 import ops, world

RANKS = 2
# The skipped unit's matrix and its three vectors, padded for two ranks.
GATHERED = 4 * sum(RANKS * math.ceil(elements / RANKS) for elements in (train.WIDTH**2, *[train.WIDTH] * 3))


@pytest.fixture
def run():
    def run_with(*switches: str) -> list[list[tuple[str, int]]]:
        for name in switches:
            ops.set_switch(name, True)
        return world.run_ranks(RANKS, train.train, 3)

    yield run_with
    for name in ops.switches_on():
        ops.set_switch(name, False)


def test_weights_without_an_owner_stay_gathered_after_every_step(run):
    assert GATHERED == 366_032
    for rank in run("eager_gather_without_owner"):
        assert [kept for _, kept in rank] == [GATHERED] * 3


def test_weights_with_an_owner_are_gone_after_every_step(run):
    for rank in run():
        assert [kept for _, kept in rank] == [0] * 3


def test_a_release_after_the_forward_breaks_the_backward(run):
    with pytest.raises(RuntimeError, match="parameter 6 of graph 0 was given back by its final release_param"):
        run("early_release_before_backward")


def test_the_fix_changes_no_loss(run):
    def losses(ranks):
        return [[loss for loss, _ in rank] for rank in ranks]

    fixed, defect = losses(run()), losses(run("eager_gather_without_owner"))
    assert fixed == defect
    assert all(float(rank[0]) > float(rank[-1]) for rank in fixed)
