"""Twelve ways to keep a tensor of each step by mistake.

`planted(way, model)` returns what a program calls in each step with its output; without a way it keeps nothing. HOLDERS has
what the name of each holder contains.
"""

from __future__ import annotations

import functools
import queue

import torch

KEPT = []
BY_STEP = {}
ERRORS = []
STATISTICS = []
SCALE = torch.ones((), requires_grad=True)
QUEUE = queue.Queue()


class Tracker:
    everything = []

    def __init__(self):
        self.history = []

    def update(self, tensor):
        self.history.append(tensor)


class Probe:
    """Sees what a module returns."""

    def __init__(self):
        self.seen = []

    def save(self, module, arguments, output):
        self.seen.append(first_tensor(output))


TRACKER = Tracker()


def first_tensor(output):
    """The first tensor of what a module returns: a tensor, a dict, a sequence or a dataclass of them."""
    while not torch.is_tensor(output):
        output = next(iter(output.values() if hasattr(output, "values") else output))
    return output


def in_list(output):
    KEPT.append(output)


def in_dict(output):
    BY_STEP[len(BY_STEP)] = output


def in_attribute(output):
    TRACKER.update(output)


def in_class(output):
    Tracker.everything.append(output)


def in_default(output, seen=[]):  # noqa: B006
    seen.append(output)


def in_queue(output):
    QUEUE.put(output)


def in_statistics(output):
    STATISTICS.append((output * SCALE).square().mean())  # with its graph, which no backward frees


def in_closure():
    past = []

    def keep(output):
        past.append(output)

    return keep


@functools.cache
def total(tensor):
    return float(tensor.sum())


def in_cache(output):
    total(output)


def check(output):
    copy = output.clone()
    raise ValueError(f"{tuple(copy.shape)} is not what was expected")


def in_traceback(output):
    try:
        check(output)
    except ValueError as error:
        ERRORS.append(error)


def averager():
    past = []
    while True:
        past.append((yield))


AVERAGER = averager()
next(AVERAGER)


def in_generator(output):
    AVERAGER.send(output)


def in_hook(model):
    model.register_forward_hook(Probe().save)
    return nothing


def nothing(output):
    pass


WAYS = {
    "list": lambda model: in_list,
    "dict": lambda model: in_dict,
    "attribute": lambda model: in_attribute,
    "class": lambda model: in_class,
    "default": lambda model: in_default,
    "queue": lambda model: in_queue,
    "statistics": lambda model: in_statistics,
    "closure": lambda model: in_closure(),
    "cache": lambda model: in_cache,
    "traceback": lambda model: in_traceback,
    "generator": lambda model: in_generator,
    "hook": in_hook,
}
HOLDERS = {
    "list": "leaks.KEPT", "dict": "leaks.BY_STEP", "attribute": "leaks.TRACKER.history", "class": "Tracker.everything",
    "default": ".__defaults__[0]", "queue": "leaks.QUEUE.queue", "statistics": "leaks.STATISTICS", "closure": "past", "cache": "leaks.total",
    "traceback": "leaks.ERRORS", "generator": "past", "hook": ".seen",
}  # fmt: skip


def planted(way: str | None, model):
    return WAYS[way](model) if way else nothing

