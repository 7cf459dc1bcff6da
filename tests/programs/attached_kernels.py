"""A training on a GPU that releases a tensor while it is referenced, and then uses its memory.

Trains until there is FOLDER/end, or STEPS steps, with a second stream and a graph that is replayed. In each step a tensor
is gathered and released, and after its release three calls give the GPU work: an operator that does not use it, a kernel
of the program's own that reads it, and a copy of it. While there is FOLDER/profile, torch's profiler is on. After each
step FOLDER/steps has their number. Prints losses, a digest of the parameters, and what the profiler saw on the GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import pathlib
import sys
import time

import torch
from late_uses import ELEMENTS, SOURCE, copy_to_host

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

KEY = 7


def on_the_gpu(profile: torch.profiler.profile) -> list[str]:
    """Names of what ran there. One that was refused has no events."""
    return [event.name for event in profile.events() or () if event.device_type == torch.autograd.DeviceType.CUDA]


class Profiler:
    """torch's, for as long as it is asked for."""

    def __init__(self, asked: pathlib.Path) -> None:
        self.asked = asked
        self.running = None
        self.steps = 0
        self.seen: list[str] = []

    def step_begins(self) -> None:
        if self.asked.exists() == (self.running is not None):
            self.steps += self.running is not None
            return
        if self.running is None:
            self.running = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
            self.running.start()
            self.steps += 1
        else:
            self.end()

    def end(self) -> None:
        if self.running is None:
            return
        torch.cuda.synchronize()
        self.running.stop()
        self.seen += on_the_gpu(self.running)
        self.running = None


def replace(path: pathlib.Path, text: str) -> None:
    written = path.with_suffix(".new")
    written.write_text(text)
    written.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("steps", type=int, nargs="?", default=1 << 60)
    parser.add_argument("--after-release", action="store_true", help="torch's profiler from each release on to the drop")
    arguments = parser.parse_args()
    folder = arguments.folder
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    device = torch.device("cuda:0")
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    side = torch.cuda.Stream()
    late_read = torch.cuda._compile_kernel(SOURCE, "late_read")
    total = torch.zeros(1, device=device)
    other = torch.zeros(8, device=device)
    weighed = torch.zeros(1 << 16, device=device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mean = (weighed * 2).relu().mean()
    profiler = Profiler(folder / "profile")
    losses = []
    after_release: list[str] = []
    copied = 0.0
    while len(losses) < arguments.steps and not (folder / "end").exists():
        profiler.step_begins()
        generator = torch.Generator().manual_seed(len(losses))
        inputs = torch.randn(256, 256, generator=generator).to(device)
        with torch.cuda.stream(side):
            scaled = torch.ones(1 << 20, device=device) * 2
            scaled.record_stream(torch.cuda.current_stream())
        weighed.copy_(inputs.view(-1))
        graph.replay()
        weight = torch.full((ELEMENTS,), len(losses) % 8 + 1.0, device=device)
        dc_memtrace.gather(KEY, weight)
        loss = model(inputs).square().mean() + mean + weight.mean()
        loss.backward()
        with dc_memtrace.release(KEY):
            pass
        with torch.profiler.profile() if arguments.after_release else contextlib.nullcontext() as profile:
            other.add_(1)
            late_read(grid=(1, 1, 1), block=(32, 1, 1), args=[weight, total, ELEMENTS])
            copied += copy_to_host(weight)
            if arguments.after_release:
                torch.cuda.synchronize()
        weight = None
        if arguments.after_release:
            after_release = on_the_gpu(profile)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        dc_memtrace.step()
        replace(folder / "steps", str(len(losses)))
        time.sleep(0.02)
    profiler.end()
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    print(json.dumps({
        "losses": losses, "parameters": digest.hexdigest(), "total": total.item(), "copied": copied,
        "profiled": {"steps": profiler.steps, "seen": profiler.seen}, "after_release": after_release,
    }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
