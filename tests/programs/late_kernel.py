"""Releases a tensor on a GPU that stays referenced, and then uses its memory in the ways that are asked for.

One JSON line: the value that the program computed, and what torch's profiler saw of the GPU in the step it was on for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import sys
from collections.abc import Callable

import torch
from late_uses import ELEMENTS, SOURCE, copy_to_host

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

KEY = 7


def doubled(weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(weight * 2) + 1


def operator_that_calls(kernel: Callable[[], None], namespace: str, library: list) -> Callable[[torch.Tensor], object]:
    """One of torch's own, or the program's, while `library` lasts. What `kernel` works with is not among its inputs."""

    def implementation(given: torch.Tensor) -> torch.Tensor:
        kernel()
        return given

    library.append(torch.library.Library(namespace, "IMPL" if namespace == "aten" else "DEF"))
    if namespace != "aten":
        library[0].define("digamma(Tensor self) -> Tensor")
    library[0].impl("digamma", implementation, "CUDA")
    return getattr(torch.ops, namespace).digamma.default


def on_the_gpu(profile) -> list[str]:
    """Names of what ran on the GPU."""
    events = profile.events() if profile is not None else []
    return sorted(event.name for event in events if event.device_type == torch.autograd.DeviceType.CUDA)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--kernel", action="store_true", help="a kernel of the program's own reads it")
    parser.add_argument("--operator", action="store_true", help="an operator reads it")
    parser.add_argument("--compiled", action="store_true", help="a kernel of a compiled graph reads it")
    parser.add_argument("--inside", choices=["aten", "mine"], help="the kernel, in an operator that is given another tensor")
    parser.add_argument("--copy", action="store_true", help="it is copied to the host")
    parser.add_argument("--graph", action="store_true", help="a CUDA graph that has nothing to do with it is replayed")
    parser.add_argument("--capture", action="store_true", help="before all else, such a release is captured in a graph")
    parser.add_argument("--profile", type=int, default=-1, help="the step in which torch's profiler is on")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    total = torch.zeros(1, device="cuda")
    other = torch.zeros(8, device="cuda")
    late_read = torch.cuda._compile_kernel(SOURCE, "late_read")
    compiled = torch.compile(doubled)
    if arguments.compiled:
        compiled(torch.ones(ELEMENTS, device="cuda"))
    weight = None

    def launch() -> None:
        late_read(grid=(1, 1, 1), block=(32, 1, 1), args=[weight, total, ELEMENTS])

    library: list = []
    inside = operator_that_calls(launch, arguments.inside, library) if arguments.inside else None
    graph = torch.cuda.CUDAGraph()
    if arguments.graph:
        with torch.cuda.graph(graph):
            other.mul_(2)
    if arguments.capture:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            captured = torch.full((ELEMENTS,), 1.0, device="cuda")
            dc_memtrace.gather(KEY + 1, captured)
            with dc_memtrace.release(KEY + 1):
                pass
            other.add_(1)
            late_read(grid=(1, 1, 1), block=(32, 1, 1), args=[captured, total, ELEMENTS])
        del captured
    copied = 0.0
    seen = []
    for step in range(arguments.steps):
        profiler = torch.profiler.profile() if step == arguments.profile else contextlib.nullcontext()
        with profiler as profile:
            weight = torch.full((ELEMENTS,), step + 1.0, device="cuda")
            dc_memtrace.gather(KEY, weight)
            total += weight.sum()
            with dc_memtrace.release(KEY):
                pass
            other.add_(1)  # the next operator: one kernel
            if arguments.kernel:
                launch()
            if inside:
                inside(other)
            if arguments.operator:
                torch.add(weight, 1)
            if arguments.compiled:
                compiled(weight)
            if arguments.copy:
                copied += copy_to_host(weight)
            if arguments.graph:
                graph.replay()
            weight = None
            torch.cuda.synchronize()
        seen += on_the_gpu(profile)
        dc_memtrace.step()
    print(json.dumps({"total": total.item(), "copied": copied, "profiled": seen}), flush=True)


if __name__ == "__main__":
    main()
