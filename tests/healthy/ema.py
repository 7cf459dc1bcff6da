import copy

import torch
from sharded import Weights, model, train

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 164)
    average = [copy.deepcopy(p.detach()) for p in network.parameters()]
    for _ in range(4):
        train(network, 164, steps=1)
        with torch.no_grad():
            for mean, parameter in zip(average, network.parameters()):
                mean.lerp_(parameter, 0.1)
    return sum(mean.sum().item() for mean in average)
