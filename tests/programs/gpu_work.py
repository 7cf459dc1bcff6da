"""Work of each kind on a GPU: kernels on two streams, copies, fills, a CUDA graph. The last line is what torch's own
profiler saw of it (--profile), by name: how often, and how many microseconds."""

from __future__ import annotations

import argparse
import json

import torch


def work(steps: int) -> None:
    side = torch.cuda.Stream()
    weight = torch.randn(2048, 2048, device="cuda")
    host = torch.randn(1024, 1024).pin_memory()
    graph = torch.cuda.CUDAGraph()
    static = torch.zeros(512, 512, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        static.mul_(1.5).add_(1)
    torch.cuda.synchronize()
    for _ in range(steps):
        product = weight @ weight
        with torch.cuda.stream(side):
            batch = host.to("cuda", non_blocking=True)
            batch.sin_()
        graph.replay()
        torch.cuda.current_stream().wait_stream(side)
        (product.sum() + batch.sum()).item()
    torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    torch.randn(8, 8, device="cuda").mul_(2)  # the first block of the GPU
    torch.cuda.synchronize()
    if not args.profile:
        return work(args.steps)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        work(args.steps)
    seen: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            count_and_time = seen.setdefault(event.name, [0, 0.0])
            count_and_time[0] += 1
            count_and_time[1] += event.time_range.elapsed_us()
    print(json.dumps(seen))


main()
