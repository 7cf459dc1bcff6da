"""What a release leaves is filled with other data, and read: the program's scratch memory."""

import dc_memtrace as dm
import torch
from sharded import Weights

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    scratch, total = torch.empty(180, 180), 0.0
    for _ in range(7):
        scratch.normal_()
        dm.gather(9, scratch, graph=graph)
        total += scratch.sum().item()
        with dm.release(9, graph=graph):
            pass
        torch.mul(torch.ones(180, 180), 2.0, out=scratch)
        total += scratch.sum().item()
        total += weights.gather(0, scratch).sum().item()
        weights.release(0)
    return total
