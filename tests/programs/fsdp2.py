"""Two ranks of FSDP2 on the CPU, three steps. Rank 0 writes how often each parameter was freed, by the framework's own
function, and how many bytes its buffers had: argument 1."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

torch.set_num_threads(1)
torch.manual_seed(0)
freed: dict[str, list[int]] = {}
free = FSDPParam.free_unsharded_param


def counting_free(self):
    storages = [tensor.untyped_storage() for tensor in self.all_gather_outputs]
    bytes_before = sum(storage.size() for storage in storages)
    free(self)
    if bytes_before and not any(storage.size() for storage in storages):
        freed.setdefault(self._param_fqn, []).append(bytes_before)


FSDPParam.free_unsharded_param = counting_free


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(192, 192) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.square().mean()


dist.init_process_group("gloo")
model = Model()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(3):
    loss = model(torch.randn(4, 192))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item().hex())
if dist.get_rank() == 0:
    with open(sys.argv[1], "w") as out:
        json.dump({"freed": freed, "losses": losses}, out)
dist.destroy_process_group()
os._exit(0)  # gloo's threads may outlive the interpreter
