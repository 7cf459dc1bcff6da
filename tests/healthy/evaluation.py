import torch
from sharded import Weights, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 161)
    train(network, 161, steps=2)
    with torch.no_grad():
        losses = [network(torch.randn(8, 161)).square().mean().item() for _ in range(3)]
    return losses[-1] + train(network, 161, steps=2)
