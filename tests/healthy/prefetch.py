"""The next layer's weights are gathered before the last one's are released."""

import torch
from sharded import Weights

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    shards = [torch.randn(182, 182) / 13 for _ in range(8)]
    x = torch.randn(4, 182)
    weights.gather(0, shards[0])
    for key in range(8):
        if key + 1 < 8:
            weights.gather(key + 1, shards[key + 1])
        x = torch.tanh(x @ weights.whole[key])
        weights.release(key)
    return x.sum().item()
