"""What the programs share: the leak by their only argument, and a count of their own of what their memory is for."""

from __future__ import annotations

import json
import sys

import torch

FOLLOWED = 64 * 1024  # bytes: what is smaller is only summed


def setup(arguments: list[str] = sys.argv[1:]) -> str | None:  # noqa: B006
    """The way to leak, if one is given; the program is healthy without."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return arguments[0] if arguments else None


def bytes_of(tensors) -> int:
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(size for size in storages.values() if size >= FOLLOWED)


def print_counts(model: torch.nn.Module, *optimizers: torch.optim.Optimizer, copies: tuple[torch.nn.Module, ...] = ()) -> None:
    """`copies`: other modules with parameters, as an average."""
    state = [
        value for optimizer in optimizers for of in optimizer.state.values() for value in of.values() if torch.is_tensor(value)
    ]
    parameters = [parameter for module in (model, *copies) for parameter in module.parameters()]
    print(json.dumps({"parameter": bytes_of(parameters), "optimizer state": bytes_of(state)}))
