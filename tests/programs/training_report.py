"""What the training programs of this folder print: losses, a hash of the parameters, and torch's own memory counts."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import pathlib
import sys
from collections.abc import Iterable, Iterator

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

PROFILED = "profiled"


def make_deterministic(seed: int = 0) -> None:
    torch.manual_seed(seed)
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """SHA-256 over the bytes of all tensors, in order."""
    sha = hashlib.sha256()
    for tensor in tensors:
        values = tensor.detach().contiguous()
        sha.update(ctypes.string_at(values.data_ptr(), values.nbytes))
    return sha.hexdigest()


@contextlib.contextmanager
def memory_counts(enabled: bool) -> Iterator[dict]:
    """With `enabled`, counts what torch's profiler sees of CPU allocations inside; empty otherwise.

    `peak_bytes` is above what was allocated at the begin, `allocated_bytes` the sum of all allocations. In a recorded
    process the same stretch is a phase named PROFILED, so that a trace of this very run can be compared.
    """
    counts: dict[str, int] = {}
    if not enabled:
        yield counts
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        with dc_memtrace.phase(PROFILED):
            yield counts
    events = [
        (event.start_ns(), event.nbytes())
        for event in profile.profiler.kineto_results.events()
        if event.name() == "[memory]" and event.device_type() == torch.autograd.DeviceType.CPU
    ]
    sizes = [size for _, size in sorted(events, key=lambda event: event[0])]
    total = peak = 0
    for size in sizes:
        total += size
        peak = max(peak, total)
    counts["allocations"] = sum(size > 0 for size in sizes)
    counts["frees"] = sum(size < 0 for size in sizes)
    counts["allocated_bytes"] = sum(size for size in sizes if size > 0)
    counts["peak_bytes"] = peak
    counts["left_bytes"] = total


def print_report(losses: list[float], parameters: Iterable[torch.Tensor], counts: dict) -> None:
    """One JSON line. Losses are written in hexadecimal, so that equal text means equal bits."""
    report = {"losses": [loss.hex() for loss in losses], "sha256": digest(parameters)}
    if counts:
        report["memory"] = counts
    print(json.dumps(report), flush=True)
