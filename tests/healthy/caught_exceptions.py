import torch
from sharded import Weights, model, train

KEEP = []


class Fails(torch.nn.Module):
    def forward(self, x):
        raise ValueError("a batch that does not fit")


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    network = model(weights, 173)
    caught = 0
    for _ in range(3):
        train(network, 173, steps=1)
        try:
            torch.nn.Sequential(*network, Fails())(torch.randn(8, 173))
        except ValueError:
            caught += 1
    return train(network, 173, steps=1) + caught
