"""Many keys in one flat buffer, which goes when the last of them is released."""

import dc_memtrace as dm
import torch
from sharded import Weights

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    shard, total = torch.randn(8, 179 * 179), 0.0
    for _ in range(7):
        flat = weights.gather(0, shard)
        for key in range(1, 8):
            dm.gather(key, flat[key], graph=graph)
        total += flat.sum().item()
        del flat
        for key in range(1, 8):
            with dm.release(key, graph=graph):
                pass
        weights.release(0)
        torch.ones(2)
    return total
