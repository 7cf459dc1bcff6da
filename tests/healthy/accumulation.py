import torch
from sharded import Weights, model

KEEP = []


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 175)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        for _ in range(3):
            loss = network(torch.randn(8, 175)).square().mean() / 3
            loss.backward()
        optimizer.step()
    return loss.item()
