import torch
from sharded import Weights, model, train

KEEP = []


class Adapted(torch.nn.Module):
    def __init__(self, base, width, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = torch.nn.Parameter(torch.randn(width, rank) * 0.01)
        self.up = torch.nn.Parameter(torch.randn(rank, width) * 0.01)

    def forward(self, x):
        return self.base(x) + x @ self.down @ self.up


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    return train(Adapted(model(weights, 166), 166), 166)
