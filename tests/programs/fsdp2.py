"""Two ranks of FSDP2, three steps, on GPUs if there are two of them and `cuda` is asked for. Rank 0 writes the losses, a
hash of its shards, its highest allocated bytes, and how many bytes of each parameter's buffers were freed, each time, by
the framework's own function.

    fsdp2.py OUT LAYERS WIDTH cpu|cuda
"""

import hashlib
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

out, layers, width, device = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(1)
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
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
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.square().mean()


if device == "cuda":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl" if device == "cuda" else "gloo")
model = Model().to(device)
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
losses = []
for _ in range(3):
    loss = model(torch.randn(4, width, device=device))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item().hex())
if dist.get_rank() == 0:
    shards = hashlib.sha256()
    for parameter in model.parameters():
        shards.update(parameter.to_local().detach().cpu().numpy().tobytes())
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else None
    with open(out, "w") as file:
        json.dump({"freed": freed, "losses": losses, "shards": shards.hexdigest(), "peak": peak}, file)
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # gloo's threads may outlive the interpreter
