import torch
from sharded import Weights, model

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 162)
    with torch.inference_mode():
        return sum(network(torch.randn(8, 162)).sum().item() for _ in range(4))
