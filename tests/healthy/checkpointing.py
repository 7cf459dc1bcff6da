import torch
from sharded import Weights, model, train
from torch.utils.checkpoint import checkpoint

KEEP = []


class Checkpointed(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        for block in self.inner:
            x = checkpoint(block, x, use_reentrant=False)
        return x


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    return train(Checkpointed(model(weights, 163)), 163)
