"""FSDP2 trains and evaluates: its root group stays gathered after a forward without a backward."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

KEEP = []


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(256, 256)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(2))

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.square().mean()


def main(graph, plant):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = Model()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(3):
        loss = model(torch.randn(4, 256))
        loss.backward()
        if plant:
            model.layers[0].unshard()  # and never resharded
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        total = sum(model(torch.randn(4, 256)).item() for _ in range(2))
    KEEP.append(model)
    dist.destroy_process_group()
    return total + loss.item()
