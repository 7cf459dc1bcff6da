"""What the executor's gather and release cost over NCCL, beside NCCL's own all-gather of the same bytes and torch's, and
what its operators cost the host: one process a GPU, started by scripts/bench-nccl. Prints one table, row by row.

A turn is a number of gathers in a row, timed on the GPU from the first to the last; the three take turns within a round,
the order reversed every other round. `executor`: gather, wait, use count, release of the whole. `torch`: into a new
tensor by dist.all_gather_into_tensor over a NCCL group. `raw`: into a new tensor by ncclAllGather, called as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
from raw_nccl import RawNccl
from statistics_of_pairs import median_interval

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "executor" / "python"))

from dcmt_zero3 import ops, world  # noqa: E402

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = tuple(64 * KIB << 2 * step for step in range(8))  # 64 KiB to 1 GiB, gathered
TURN_BYTES = 4 * GIB
GRAPH = 0
BUDGET_US = 5.0
HOST_BYTES = 64 * KIB
HOST_CALLS = 2000
EMPTY = "an operator that does nothing"
NOTHING = "a C function that does nothing"
#: which call of the host each operator is there to make
GIVES_WORK = {
    "gather": "ncclAllGather",
    "offload_tensor": "copy_ to pinned memory",
    "reload_tensor": "copy_ from pinned memory",
    "reduce_grad, without the reduction": "copy_ on the GPU",
}
QUEUED = 20  # calls between synchronizations: the queue is never full, the host never waits


def shard_of(bytes: int) -> torch.Tensor:
    return torch.randn(bytes // 4 // dist.get_world_size(), device="cuda")


def gathers(bytes: int, nccl: RawNccl) -> dict:
    """The three, as functions that gather once."""
    shard = shard_of(bytes)
    whole = shard.numel() * dist.get_world_size()
    ops.register_param(bytes, [whole], shard, None)
    ops.register_graph_z3(bytes, [bytes])

    def executor() -> None:
        weight = ops.wait_allgather(ops.allgather_param(shard, bytes, bytes), bytes, bytes)
        ops.release_param(weight, bytes, bytes, 1)

    def by_torch() -> None:
        dist.all_gather_into_tensor(torch.empty(whole, device="cuda"), shard)

    def raw() -> None:
        nccl.all_gather(*nccl.arguments(shard, torch.empty(whole, device="cuda")))

    return {"executor": executor, "torch": by_torch, "raw": raw}


def turn(gather, times: int) -> float:
    """Microseconds of one gather. All ranks begin together."""
    dist.barrier()
    torch.cuda.synchronize()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(times):
        gather()
    last.record()
    torch.cuda.synchronize()
    return 1e3 * first.elapsed_time(last) / times


def measure_gathers(bytes: int, rounds: int, nccl: RawNccl) -> dict:
    ways = gathers(bytes, nccl)
    times = max(2, min(500, TURN_BYTES // bytes))
    for gather in ways.values():
        turn(gather, times)
    micros = {name: [] for name in ways}
    for round in range(rounds):
        for name in list(ways)[:: 1 if round % 2 == 0 else -1]:
            micros[name].append(turn(ways[name], times))
    ours = micros["executor"]
    return {
        "bytes": bytes,
        "us": {name: statistics.median(values) for name, values in micros.items()},
        "ratio": {
            rival: median_interval([a / b for a, b in zip(ours, micros[rival], strict=True)])
            for rival in ("torch", "raw")
        },
    }


def timed(calls: dict) -> dict:
    """Calls each function in turn, HOST_CALLS times. Returns the microseconds of host time of each call."""
    nanos = {name: [] for name in calls}
    for time_ in range(HOST_CALLS):
        if time_ % QUEUED == 0:
            torch.cuda.synchronize()
        for name, call in calls.items():
            begin = time.perf_counter_ns()
            call()
            nanos[name].append(time.perf_counter_ns() - begin)
    torch.cuda.synchronize()
    skipped = HOST_CALLS // 10  # the first ones make events and fill pools
    return {name: [one / 1e3 for one in values[skipped:]] for name, values in nanos.items()}


def measure_host(nccl: RawNccl) -> dict:
    shard = shard_of(HOST_BYTES)
    whole = shard.numel() * dist.get_world_size()
    ids = list(range(10, 10 + HOST_CALLS + QUEUED))
    for id in ids:
        ops.register_param(id, [whole], shard, torch.zeros_like(shard))
    ops.register_graph_z3(GRAPH, ids)
    id, activation = ids[0], torch.randn(whole, device="cuda")
    nowhere, into = torch.empty(0, device="meta"), torch.empty(whole, device="cuda")
    host = torch.empty(whole, pin_memory=True)
    raw, copy_ = nccl.arguments(shard, into), torch.ops.aten.copy_
    works, gradients = [], iter(ids)

    def rival() -> None:
        works.append(dist.all_gather_into_tensor(into, shard, async_op=True))

    measured = timed({EMPTY: lambda: ops.wait_allgather(nowhere, GRAPH, id)})
    measured |= timed({
        NOTHING: lambda: nccl.nothing(*raw),
        "ncclAllGather": lambda: nccl.all_gather(*raw),
        "copy_ to pinned memory": lambda: copy_(host, activation, True),
        "copy_ from pinned memory": lambda: copy_(into, host, True),
        "copy_ on the GPU": lambda: copy_(into, activation),
    })  # fmt: skip
    measured |= timed({
        "gather": lambda: ops.allgather_param(shard, GRAPH, id),
        "gather of what is valid": lambda: ops.allgather_param(shard, GRAPH, id),
        "wait": lambda: ops.wait_allgather(shard, GRAPH, id),
        "release, not the last": lambda: ops.release_param(shard, GRAPH, id, 2),
        "release, the last": lambda: ops.release_param(shard, GRAPH, id, 2),
    })  # fmt: skip
    measured |= timed({
        "torch: all_gather_into_tensor": rival,
        "torch: its wait": lambda: works.pop().wait(),
    })  # fmt: skip
    measured |= timed({
        "offload_tensor": lambda: ops.offload_tensor(activation, GRAPH, 0),
        "wait_offload": lambda: ops.wait_offload(activation, GRAPH, 0),
        "reload_tensor": lambda: ops.reload_tensor(activation, GRAPH, 0),
        "wait_reload": lambda: ops.wait_reload(activation, GRAPH, 0),
    })  # fmt: skip
    ops.start_backward(True)
    measured |= timed({"reduce_grad, without the reduction": lambda: ops.reduce_grad(activation, GRAPH, next(gradients))})
    ops.end_backward([], GRAPH, True)
    return {
        name: {**median_interval(values), "p99": sorted(values)[len(values) * 99 // 100]}
        for name, values in measured.items()
    }


def own_cost(name: str, host: dict) -> float | None:
    """The cost of the operator itself: without the call from Python, and without the call that gives the GPU its work,
    which is called from Python just so (a copy), or by ctypes (NCCL's)."""
    if name in (EMPTY, NOTHING) or name in GIVES_WORK.values() or name.startswith("torch"):
        return None
    call = GIVES_WORK.get(name, EMPTY)
    own = host[name]["high"] - host[call]["median"]
    return own - host[EMPTY]["median"] + host[NOTHING]["median"] if call == "ncclAllGather" else own


def text_of(bytes: int) -> str:
    return f"{bytes // MIB} MiB" if bytes >= MIB else f"{bytes // KIB} KiB"


def print_head(results: dict) -> None:
    print(f"{results['device']}, {results['ranks']} ranks, torch {torch.__version__}")
    print("\ngather and release      executor      torch        raw   to torch                to raw", flush=True)


def print_gathers(row: dict) -> None:
    us = row["us"]
    ratios = "   ".join(
        f"{ratio['median']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]" for ratio in row["ratio"].values()
    )
    times = f"{us['executor']:18.1f} {us['torch']:10.1f} {us['raw']:10.1f} us"
    print(f"{text_of(row['bytes']):>10} {times} {ratios}", flush=True)


def print_host(host: dict) -> None:
    print(f"\nhost, {text_of(HOST_BYTES)}, called from Python     median                   p99   its own, budget {BUDGET_US} us")
    for name, one in host.items():
        own = own_cost(name, host)
        verdict = "" if own is None else f"{own:6.2f} {'pass' if own <= BUDGET_US else 'MISS'}"
        times = f"{one['median']:6.2f} [{one['low']:.2f}, {one['high']:.2f}]"
        print(f"  {name:38} {times:24} {one['p99']:8.2f}   {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="gathered bytes")
    parser.add_argument("--json", type=pathlib.Path, help="the figures in full go here")
    arguments = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    control = dist.new_group(backend="gloo")
    world.join_processes(control, device, bucket_elements=HOST_CALLS * HOST_BYTES // 4 + HOST_BYTES)
    nccl = RawNccl(control)
    results = {"device": torch.cuda.get_device_name(), "ranks": dist.get_world_size(), "gathers": []}
    first = dist.get_rank() == 0
    if first:
        print_head(results)
    for bytes in arguments.sizes:
        results["gathers"].append(measure_gathers(bytes, arguments.rounds, nccl))
        if first:
            print_gathers(results["gathers"][-1])
    results["host"] = measure_host(nccl)
    if first:
        print_host(results["host"])
        if arguments.json:
            arguments.json.write_text(json.dumps(results))
    ops.cleanup()
    nccl.destroy()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
