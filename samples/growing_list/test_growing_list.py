"""The sample keeps what it claims and the fix removes it, without dc-memtrace."""

from __future__ import annotations

import pathlib
import runpy
import sys

TRAIN = str(pathlib.Path(__file__).with_name("train.py"))


def losses_of(monkeypatch, *switches: str) -> list:
    monkeypatch.setattr(sys, "argv", [TRAIN, *switches])
    return runpy.run_path(TRAIN)["losses"]


def test_each_loss_keeps_its_graph(monkeypatch):
    losses = losses_of(monkeypatch)
    assert len(losses) == 40 and all(loss.grad_fn is not None for loss in losses)
    assert sum(loss.untyped_storage().nbytes() for loss in losses) == 40 * 256 * 256 * 4


def test_numbers_keep_nothing(monkeypatch):
    losses = losses_of(monkeypatch, "--numbers")
    assert len(losses) == 40 and all(type(loss) is float for loss in losses)
