"""A stage of a pipeline whose backward is split: the gradient of its input first, those of its weights later."""

from __future__ import annotations

import torch
from torch.utils.checkpoint import checkpoint


class Stage(torch.nn.Module):
    def __init__(self, hidden: int, layers: int, checkpointed: bool) -> None:
        super().__init__()
        blocks = [(torch.nn.Linear(hidden, hidden, bias=False), torch.nn.Tanh()) for _ in range(layers)]
        self.blocks = torch.nn.Sequential(*(module for block in blocks for module in block))
        self.checkpointed = checkpointed

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.checkpointed:
            return checkpoint(self.blocks, inputs, use_reentrant=False, preserve_rng_state=False)
        return self.blocks(inputs)


def input_gradient(output: torch.Tensor, inputs: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """What the stage before waits for. The graph stays for the weights."""
    return torch.autograd.grad(output, inputs, gradient, retain_graph=True)[0]


def weight_gradients(output: torch.Tensor, stage: Stage, gradient: torch.Tensor) -> None:
    """Whenever there is time, until the optimizer's step."""
    torch.autograd.backward(output, gradient, inputs=list(stage.parameters()))
