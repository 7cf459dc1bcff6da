"""FSDP2 on two ranks: trained, evaluated, trained on, evaluated last; and a model that is only ever evaluated. After a
forward that no backward follows, FSDP2 keeps the root's parameters gathered, by design.

    fsdp2.py [--plant]      with --plant a weight is released three times and then no more

Rank 0 prints its losses.
"""

import itertools
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

WIDTH = 192
free = FSDPParam.free_unsharded_param


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)  # the root's own
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.square().mean()


def sharded(mesh):
    model = Model()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def train(model, optimizer):
    for _ in range(2):
        loss = model(torch.randn(4, WIDTH))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def evaluate(model):
    with torch.no_grad():
        return [model(torch.randn(4, WIDTH)).item() for _ in range(2)][-1]


def skip_releases(model):
    """Of the first layer's weight, those after its third."""
    weight, _ = model.layers[0]._get_fsdp_state()._fsdp_param_group.fsdp_params
    calls = itertools.count(1)

    def free_all_others(self):
        if self is not weight or next(calls) <= 3:
            free(self)

    FSDPParam.free_unsharded_param = free_all_others


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model, never_trained = sharded(mesh), sharded(mesh)
    if "--plant" in sys.argv:
        skip_releases(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = [train(model, optimizer), evaluate(model), evaluate(never_trained), train(model, optimizer)]
    losses.append(evaluate(model))
    if dist.get_rank() == 0:
        print(*(loss.hex() for loss in losses), flush=True)
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads may outlive the interpreter


main()
