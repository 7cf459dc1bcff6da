"""A model that exists twice for a while: `duplicates.py CASE [twin]`. The twin does the same without a second copy."""

import copy
import os
import sys
import tempfile

import torch
from torch import nn


def net() -> nn.Module:
    layers = [nn.Embedding(700, 128), nn.Linear(128, 384), nn.ReLU(), nn.Linear(384, 256), nn.ReLU(), nn.Linear(256, 128)]
    return nn.Sequential(*layers)


def alike() -> nn.Module:
    return nn.Sequential(*(nn.Linear(256, 256) for _ in range(6)))


def train(model: nn.Module, optimizer=None, steps: int = 3) -> None:
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(8, 256) if isinstance(model[0], nn.Linear) else torch.randint(0, 700, (8,))
    batch = batch.to(next(model.parameters()).dtype) if batch.is_floating_point() else batch
    for _ in range(steps):
        for layer in model:  # a layer at a time: without the duplicate, the peak is low
            layer.requires_grad_(layer is model[-1])
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def saved(content) -> str:
    path = os.path.join(tempfile.mkdtemp(), "saved.pt")
    torch.save(content, path)
    return path


def load(twin: bool, make=net) -> nn.Module:
    model = make()
    path = saved(model.state_dict())
    state = torch.load(path, mmap=twin)
    model.load_state_dict(state)
    return model


def load_alike(twin: bool) -> nn.Module:
    return load(twin, alike)


def load_first(twin: bool) -> nn.Module:
    path = saved(net().state_dict())
    state = torch.load(path)
    with torch.device("meta" if twin else "cpu"):
        model = net()
    model.load_state_dict(state, assign=True)
    return model


def load_optimizer(twin: bool) -> nn.Module:
    model = net()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randint(0, 700, (8,))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    path = saved(optimizer.state_dict())
    if not twin:
        state = torch.load(path)
        optimizer.load_state_dict(state)
        del state
    train(model, optimizer)
    return model


def save(twin: bool) -> nn.Module:
    model = net()
    train(model)
    state = model.state_dict() if twin else {name: value.clone() for name, value in model.state_dict().items()}
    saved(state)
    return model


def save_deep(twin: bool) -> nn.Module:
    model = net()
    train(model)
    saved(model.state_dict() if twin else copy.deepcopy(model).state_dict())
    return model


def save_half(twin: bool) -> nn.Module:
    model = net()
    train(model)
    saved(model.state_dict() if twin else {name: value.bfloat16() for name, value in model.state_dict().items()})
    return model


def cast(twin: bool) -> nn.Module:
    model = net()
    old = [] if twin else [parameter.data for parameter in model.parameters()]
    model.bfloat16()
    old.clear()
    return model


def widen(twin: bool) -> nn.Module:
    model = net().bfloat16()
    if twin:
        return model.float()
    wide = {name: value.float() for name, value in model.state_dict().items()}
    new = net()
    new.load_state_dict(wide)
    return new


def second_model(twin: bool) -> nn.Module:
    model = net()
    if twin:
        return model
    other = net()
    other.load_state_dict(model.state_dict())
    return other


def evaluate_copy(twin: bool) -> nn.Module:
    model = net()
    train(model)
    other = model if twin else copy.deepcopy(model)
    with torch.no_grad():
        other(torch.randint(0, 700, (8,)))
    return model


def masters(twin: bool) -> nn.Module:
    """An optimizer's creation: the values go through a second set."""
    model = net()
    values = [parameter.detach() for parameter in model.parameters()]
    if not twin:
        values = [value.clone() for value in values]
    for parameter, value in zip(model.parameters(), values):
        parameter.data.copy_(value)
    return model


CASES = [save, load, load_alike, load_first, load_optimizer, save_deep, save_half, cast, widen, second_model, evaluate_copy, masters]

if __name__ == "__main__":
    case = {each.__name__: each for each in CASES}[sys.argv[1]]
    train(case(sys.argv[2:] == ["twin"]))
