import torch
from sharded import Weights, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    shard, total = torch.randn(181, 181), 0.0
    for _ in range(7):
        whole = weights.gather(3, shard)
        total += (torch.randn(4, 181) @ whole).sum().item()
        del whole
        weights.release(3, users=2, last=False)
        total += weights.whole[3].sum().item()
        weights.release(3, users=2)
        torch.ones(2)
    return total + train(model(weights, 181), 181, steps=1)
