"""Predicted and measured peaks of a program with checkpoints around its modules."""

from __future__ import annotations

import json
import typing

import recorded

PROGRAM = recorded.PROGRAMS / "checkpointed.py"
CASES = [
    ("gpt", "layers.*"), ("mixer", "blocks.*.tokens"), ("resnet", "blocks.*"), ("dropout", "layers.*"), ("mixer", "blocks.*.channels"),
    ("encoder", "encoder.layers.*"), ("gpt", "layers.*.mlp"), ("gpt", "layers.*.attention"), ("sigmoids", "*"), ("mixer", "blocks.*"),
    ("unet", "down.*"), ("autoencoder", "encoder"), ("autoencoder", "decoder"), ("dropout", "layers.*.mlp"),
    ("unet", "up.*"), ("dropout", "layers.*.attention"),
]


class Peaks(typing.NamedTuple):
    without: int
    predicted: int
    measured: int
    text: str


def record(folder, *arguments):
    recorded.record(folder, PROGRAM, *arguments)
    (trace,) = recorded.traces(folder)
    return trace


def shown(trace, *view):
    (one,) = json.loads(recorded.tool("show", *view, "--json", trace).stdout)["traces"]
    return one


def peaks(folder, model: str, modules: str, device: str) -> Peaks:
    plain = record(folder / "plain", model, "", device)
    recompute = shown(plain, "recompute")
    (choice,) = [each for each in recompute["choices"] if each["modules"] == f"model.{modules}"]
    measured = shown(record(folder / "checkpointed", model, modules, device), "peak")["peak"]["bytes"]
    return Peaks(recompute["peak_bytes"], choice["peak_bytes"], measured, recorded.tool("show", "recompute", plain).stdout)
