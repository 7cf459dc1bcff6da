import torch
from sharded import Weights

KEEP = []


@torch.compile(backend="eager", dynamic=True)
def block(x, whole):
    return torch.tanh(x @ whole).sum()


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    shard, total = torch.randn(184, 184) / 13, 0.0
    for rows in (3, 5, 300, 7, 9, 11, 900):
        total += block(torch.randn(rows, 184), weights.gather(0, shard)).item()
        weights.release(0)
    return total
