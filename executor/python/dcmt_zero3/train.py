"""Trains a small GPT whose parameters live in shards, on simulated ranks or on one process a rank.

    python -m dcmt_zero3.train --ranks 3 --steps 5 --switch release_clears_tensor_only
    torchrun --nproc-per-node 3 -m dcmt_zero3.train --processes --steps 5

Prints one JSON line: the loss of each rank in each step, in hexadecimal, the norms of the gradients, a digest of the
trained parameters, what the executor noticed about releases, and of simulated ranks peaks, in bytes of each rank in
each step:

- gathered: `needed` by formula if every weight is given back after its last use; `counted` by the executor, at every
  gather, over the storages gathered so far that still have bytes, whoever holds them.
- at_rest: allocated after the optimizer's step, `needed` by formula and `counted`.
- allocated: the most at one time, counted.

Torch's CPU allocator counts the allocated bytes and reports them to profilers: the bytes that the rank's thread has
requested since it began, without rounding. Nothing else is included, such as Python's own memory. `peaks` has the
formulae. Over a process group no peaks are printed, because gloo's thread frees buffers at any time. On a GPU none are
printed either.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import os
from typing import TYPE_CHECKING

import torch
import torch.distributed
import torch.nn.functional as F
from torch import nn

from . import model, ops, world
from .sharded import ShardedUnits

if TYPE_CHECKING:  # these import torch's compilers, which needs longer than a short training: only where they are used
    from .backend import DynamoModel
    from .compiled import CompiledModel, Traced

    Model = ShardedUnits | CompiledModel | DynamoModel

BATCH = 2
MAX_NORM = 0.5


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dcmt_zero3.train", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2, help="simulated in this process")
    parser.add_argument("--processes", action="store_true", help="one rank a process, started by torchrun, over gloo")
    parser.add_argument("--device", type=torch.device, default="cpu", help="cuda: all ranks on one GPU, or each on its")
    parser.add_argument("--symmetric", action="store_true", help="processes on GPUs: gathers go through symmetric memory")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--micro-batches", type=int, default=2, help="backwards whose gradients one step adds up")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=24, help="a multiple of 4")
    parser.add_argument("--vocabulary", type=int, default=61)
    parser.add_argument("--tokens", type=int, default=7)
    parser.add_argument("--bucket", type=int, default=world.BUCKET_ELEMENTS, help="elements of a reduce bucket")
    parser.add_argument("--prefetch", type=int, default=0, help="units gathered ahead")
    parser.add_argument("--persistent-below", type=int, default=0, help="elements below which parameters stay gathered")
    parser.add_argument("--offload", action="store_true", help="inputs of units wait in host buffers")
    parser.add_argument("--compiled", action="store_true", help="the model as FX graphs with the operators inserted")
    parser.add_argument(
        "--compile", choices=["dynamo", "inductor"], help="under torch.compile, its graphs run by FX or by Inductor"
    )
    parser.add_argument("--reuse-buffers", action="store_true", help="of FX graphs: results go into buffers that are dead")
    parser.add_argument("--bf16", action="store_true", help="weights are gathered, and units computed, in bfloat16")
    parser.add_argument(
        "--skipped", type=int, action="append", default=[], metavar="UNIT", help="runs outside of the graph"
    )
    parser.add_argument("--switch", action="append", default=[], metavar="NAME", help="turn a known defect on")
    parser.add_argument("--as-published", action="store_true", help="turn all defects of the published version on")
    arguments = parser.parse_args()
    if arguments.symmetric and not (arguments.processes and arguments.device.type == "cuda"):
        parser.error("--symmetric needs --processes and --device cuda: simulated ranks share their memory anyway")
    return arguments


def batch(arguments: argparse.Namespace, step: int, micro: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and labels of a rank's micro-batch; the same in every process."""
    generator = torch.Generator().manual_seed(step * 10_000 + micro * 100 + rank)
    ids = torch.randint(arguments.vocabulary, (BATCH, arguments.tokens + 1), generator=generator)
    ids = ids.to(arguments.device)
    return ids[:, :-1], ids[:, 1:]


def make_units(arguments: argparse.Namespace) -> list[nn.Module]:
    torch.manual_seed(0)
    units = model.gpt(arguments.layers, arguments.width, 4, arguments.vocabulary, arguments.tokens)
    return [unit.to(arguments.device) for unit in units]


def traced(arguments: argparse.Namespace) -> Traced:
    """The graphs that all ranks use."""
    from .compiled import trace

    return trace(nn.Sequential(*make_units(arguments)), batch(arguments, 0, 0, 0)[:1])


def make_model(graph: int, arguments: argparse.Namespace) -> Model:
    units = make_units(arguments)
    if arguments.compile:
        from .backend import DynamoModel

        return DynamoModel(
            itertools.count(graph, ops.world_size()),
            nn.Sequential(*units),
            inner="inductor" if arguments.compile == "inductor" else "eager",
            persistent_below=arguments.persistent_below,
            reuse=arguments.reuse_buffers,
        )
    if arguments.compiled:
        from .compiled import CompiledModel

        module = nn.Sequential(*units)
        return CompiledModel(
            graph,
            module,
            arguments.compiled,
            persistent_below=arguments.persistent_below,
            reuse=arguments.reuse_buffers,
        )
    return ShardedUnits(
        graph,
        units,
        prefetch=arguments.prefetch,
        persistent_below=arguments.persistent_below,
        offload=arguments.offload,
        dtype=torch.bfloat16 if arguments.bf16 else None,
        skipped=frozenset(arguments.skipped),
    )


def clip(shards: list[nn.Parameter]) -> float:
    """Scales the gradients down to a norm of MAX_NORM. The ranks' squares are added in rank order."""
    mine = torch.stack([shard.grad.square().sum() for shard in shards]).sum()
    total = torch.zeros((), device=mine.device)
    for share in ops.gather_across(mine):
        total = total + share
    norm = total.sqrt()
    scale = (MAX_NORM / (norm + 1e-6)).clamp(max=1.0)
    for shard in shards:
        shard.grad.mul_(scale)
    return norm.item()


def run_micro_batch(units: Model, arguments: argparse.Namespace, step: int, micro: int) -> str:
    """Returns the loss. No tensor of it is alive afterwards."""
    inputs, labels = batch(arguments, step, micro, ops.rank())
    loss = F.cross_entropy(units(inputs).flatten(0, 1).float(), labels.flatten())
    units.start_backward(updates=micro == arguments.micro_batches - 1)
    loss.backward()
    units.end_backward()
    return loss.item().hex()


def host_buffer_bytes(arguments: argparse.Namespace) -> int:
    """The inputs of units that wait in host buffers, which are kept: token ids, then activations."""
    if not arguments.offload or arguments.compiled or arguments.compile:
        return 0
    activation = arguments.width * (torch.bfloat16 if arguments.bf16 else torch.float32).itemsize
    each = [torch.int64.itemsize, *[activation] * (arguments.layers + 1)]
    return BATCH * arguments.tokens * sum(bytes for unit, bytes in enumerate(each) if unit not in arguments.skipped)


def train(graph: int, arguments: argparse.Namespace) -> dict:
    """The results of the calling rank, with its parameters."""
    torch.set_num_threads(1)
    ops.count_allocations(True)
    units = make_model(graph, arguments)
    optimizer = torch.optim.AdamW(units.shards(), lr=1e-2, foreach=False)
    losses, norms, events, peaks = [], [], [], []
    ops.read_allocated()
    for step in range(arguments.steps):
        losses += [run_micro_batch(units, arguments, step, micro) for micro in range(arguments.micro_batches)]
        norms.append(clip(units.shards()).hex())
        optimizer.step()
        events += world.drain_events()
        need = units.need()
        at_rest, most = ops.read_allocated()
        peaks.append(
            {
                "gathered": {"needed": need.needed, "counted": ops.read_most_gathered()},
                "at_rest": {"needed": need.at_rest + host_buffer_bytes(arguments), "counted": at_rest},
                "allocated": most,
            }
        )
    ops.count_allocations(False)
    return {
        "losses": losses,
        "norms": norms,
        "events": events,
        "peaks": peaks,
        "traffic": ops.traffic(),
        "parameters": [one.cpu() for one in units.full_parameters()],
    }


def digest(parameters: list[torch.Tensor]) -> str:
    """SHA-256 of the bytes of all parameters."""
    sha = hashlib.sha256()
    for parameter in parameters:
        sha.update(bytes(parameter.flatten().view(torch.uint8).tolist()))
    return sha.hexdigest()


def run_as_process(arguments: argparse.Namespace) -> list[dict]:
    """Runs this process as one of the ranks that torchrun started; rank 0 gets the results of all."""
    torch.distributed.init_process_group("gloo")
    try:
        group = torch.distributed.group.WORLD
        world.join_processes(group, arguments.device, arguments.symmetric, bucket_elements=arguments.bucket)
        results = [None] * torch.distributed.get_world_size() if torch.distributed.get_rank() == 0 else None
        torch.distributed.gather_object(train(0, arguments), results)
        ops.cleanup()
    finally:
        torch.distributed.destroy_process_group()
    return results or []


def set_up_gpu(arguments: argparse.Namespace) -> None:
    if arguments.processes:
        arguments.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(arguments.device)
    # Other attention kernels add up a gradient in an undefined order.
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)


def main() -> None:
    arguments = parse_arguments()
    for name in arguments.switch + ["as_published"] * arguments.as_published:
        ops.set_switch(name, True)
    if arguments.device.type == "cuda":
        set_up_gpu(arguments)
    if arguments.compiled:
        arguments.compiled = traced(arguments)
    if arguments.processes:
        ranks = run_as_process(arguments)
        if not ranks:
            return
    else:
        ranks = world.run_ranks(arguments.ranks, train, arguments, bucket_elements=arguments.bucket, device=arguments.device)
    print(
        json.dumps(
            {
                "losses": [one["losses"] for one in ranks],
                "norms": ranks[0]["norms"],
                "sha256": digest(ranks[0]["parameters"]),
                **({} if arguments.processes or arguments.device.type != "cpu" else {"peaks": [one["peaks"] for one in ranks]}),
                "events": [dataclasses.asdict(event) for one in ranks for event in one["events"]],
            }
        )
    )


if __name__ == "__main__":
    main()
