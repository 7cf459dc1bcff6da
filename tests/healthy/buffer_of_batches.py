import collections

import torch
from sharded import Weights, model, train

KEEP = []
RECENT = collections.deque(maxlen=8)


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 177)
    for _ in range(12):
        RECENT.append(torch.randn(100, 177))
    return train(network, 177) + sum(batch.sum().item() for batch in RECENT)
