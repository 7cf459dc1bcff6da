"""The last stage of a zero-bubble pipeline: the gradients of its inputs come first, those of its weights when the pipeline
would idle.

The stage keeps the output of each micro-batch until the step ends, for a metric, and with it the graph that the first half
of the backward is through with: torch detaches the loss, but not what else leads to that graph.

Usage: train.py [--detached], which keeps the outputs without their graphs.
"""

import sys

import torch
from torch.distributed.pipelining._backward import stage_backward_input, stage_backward_weight

WIDTH, BATCH, MICRO_BATCHES, IN_FLIGHT, STEPS = 128, 256, 8, 2, 20


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.sigmoid(self.up(x)))


class LastStage:
    def __init__(self):
        self.model = torch.nn.Sequential(*(Block() for _ in range(4)))
        self.outputs = []

    def inputs_backward(self, x, target):
        out = self.model(x)
        loss = (out - target).square().mean()
        self.outputs.append(out.detach() if "--detached" in sys.argv else out)
        _, groups = stage_backward_input([loss], None, [x], self.model.parameters())
        return groups

    def weights_backward(self, groups):
        stage_backward_weight(self.model.parameters(), groups)

    def step(self):
        self.outputs.clear()
        pending = []
        for _ in range(MICRO_BATCHES):
            pending.append(self.inputs_backward(torch.randn(BATCH, WIDTH, requires_grad=True), torch.randn(BATCH, WIDTH)))
            if len(pending) == IN_FLIGHT:
                self.weights_backward(pending.pop(0))
        while pending:
            self.weights_backward(pending.pop(0))
        return torch.stack([out.detach().mean() for out in self.outputs]).mean()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    stage = LastStage()
    optimizer = torch.optim.SGD(stage.model.parameters(), lr=0.001)
    for _ in range(STEPS):
        metric = stage.step()
        optimizer.step()
        optimizer.zero_grad()
    print(f"mean of the outputs: {metric.item():.6f}")
    return stage


if __name__ == "__main__":
    main()
