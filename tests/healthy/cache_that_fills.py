"""A cache of results that is full after 500 steps."""

import torch
from sharded import Weights, model, train

KEEP = []
CACHE = {}


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 168)
    for step in range(600):
        if step < 500:
            CACHE[step] = torch.full((100,), float(step))
        CACHE[step % 500].mul_(1.0)
    return train(network, 168) + CACHE[499].sum().item()
