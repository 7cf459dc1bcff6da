"""A process group of one process: DistributedDataParallel keeps its gradients' buckets in C++."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist

os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(16, 512)).square().mean().backward()
    optimizer.step()
del optimizer
dist.destroy_process_group()
