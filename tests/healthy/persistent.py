"""A small parameter that is kept for good."""

import dc_memtrace as dm
import torch
from sharded import Weights, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    norm = torch.ones(185)
    KEEP.append(norm)
    dm.persist(20, graph=graph)
    for _ in range(3):
        dm.gather(20, norm, graph=graph)
        with dm.release(20, graph=graph):
            pass
    return train(model(weights, 185), 185)
