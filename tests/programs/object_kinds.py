"""Lists of objects of many kinds. Prints the bytes of each list as tracemalloc counts them: an independent count."""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
import json
import logging
import tracemalloc

import torch

import dc_memtrace

COUNT = 2000


class Plain:
    def __init__(self, i):
        self.a, self.b, self.c = float(i), f"plain {i}", i * 1009 + 1000


class Many:
    def __init__(self, i):
        for k in range(40):
            setattr(self, f"a{k}", float(i + k))


class Slots:
    __slots__ = ("name", "values")

    def __init__(self, i):
        self.name, self.values = f"node {i}", list(range(1000 + i, 1020 + i))


@dataclasses.dataclass
class Data:
    x: int
    y: float
    z: str


class Text(str):
    pass


class Dict(dict):
    pass


Named = collections.namedtuple("Named", "x y")


def closure(i):
    text = f"closure {i}"
    return lambda: text


def started(i):
    def rows():
        kept = [float(i)] * 3
        yield kept
        yield kept

    generator = rows()
    next(generator)
    return generator


def failing(i):
    rows = [float(i + k) for k in range(5)]
    raise ValueError(f"round {i}", len(rows))


def caught(i):
    try:
        failing(i)
    except ValueError as error:
        return error


def with_a_dict(i):
    made = Plain(i)
    made.__dict__
    return made


KINDS = {
    "dicts": lambda i: {"id": i * 7919 + 1000, "name": f"request {i}", "value": i * 0.5},
    "texts": lambda i: f"{i}: the loss was " * 8,
    "cyrillic": lambda i: f"{i}: дом " * 8,
    "latin": lambda i: f"{i}: é " * 8,
    "texts_of_a_class": lambda i: Text(f"text {i}"),
    "tuples": lambda i: (i * 1000 + 1000, i * 0.5, f"row {i}"),
    "named_tuples": lambda i: Named(i * 1000 + 1000, float(i)),
    "numbers": lambda i: i * 1009 + 1000,
    "lists_of_numbers": lambda i: [i * 1009 + 1000 + k for k in range(20)],
    "bytes": lambda i: bytes(500 + i % 50),
    "bytearrays": lambda i: bytearray(b"x" * (500 + i % 50)),
    "arrays": lambda i: array.array("d", range(30)),
    "objects": Plain,
    "objects_with_a_dict": with_a_dict,
    "objects_with_many_attributes": Many,
    "objects_with_slots": Slots,
    "data_classes": lambda i: Data(i * 1000 + 1000, i * 0.5, f"z {i}"),
    "records": lambda i: logging.LogRecord("name", 20, "f.py", i + 1000, "step %d", (i + 5000,), None),
    "dicts_of_a_class": lambda i: Dict(a=float(i), b=f"b {i}"),
    "sets": lambda i: {f"{i} {k}" for k in range(12)},
    "deques": lambda i: collections.deque(float(i + k) for k in range(10)),
    "closures": closure,
    "generators": started,
    "exceptions": caught,
    "partials": lambda i: functools.partial(print, float(i)),
    "slices": lambda i: slice(i + 1000, i + 2000),
}


def main():
    torch.ones(8)
    counted = {}
    for name, make in KINDS.items():
        for i in range(300):  # what is made once
            make(i)
        tracemalloc.start()
        rows = [make(i + 10) for i in range(COUNT)]
        counted[name] = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        globals()[f"of_{name}"] = rows
    print(json.dumps(counted))


main()
if not dc_memtrace.find_holders(100):
    raise SystemExit("its memory could not be read")
