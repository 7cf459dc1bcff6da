"""A wrapper that gathers for the whole forward and releases in the backward: an exception between leaves it gathered,
and the next forward takes what is there."""

import torch
from sharded import Weights

KEEP = []


class _ReleaseInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights):
        ctx.weights = weights
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.weights.release(0)
        return gradient, None


def main(graph, plant):
    KEEP.append(weights := Weights(graph, plant))
    shard = torch.nn.Parameter(torch.randn(174, 174) / 13)
    optimizer = torch.optim.SGD([shard], 0.1)
    for step in range(7):
        try:
            optimizer.zero_grad()
            weights.gather(0, shard)
            hidden = torch.randn(8, 174) @ shard
            if step == 3:
                raise ValueError("a batch that does not fit")
            loss = _ReleaseInBackward.apply(hidden, weights).square().mean()
            loss.backward()
            optimizer.step()
        except ValueError:
            pass
    return loss.item()
