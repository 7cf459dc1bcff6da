"""Trains a small model, and writes which module each storage was made for, as hooks of torch itself see it.

Usage: module_truth.py MODEL FILE. The file has {"born": [[ns, address, bytes, module or null], ...], "kept": {address: module}, "end": ns}: the
first are results of operators, at the time when the operator had returned; the second parameters, buffers and the optimizer's state
at the end. A module is named as named_modules() does.
"""

import json
import sys
import time

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

torch.manual_seed(0)
torch.set_num_threads(1)


class Attention(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2)) / 8
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2))
        self.attention = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.mlp(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 128)
        self.layers = nn.ModuleList(Block(128) for _ in range(4))
        self.head = nn.Linear(128, 1000)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(500, 128)
        self.rnn = nn.LSTM(128, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 10)

    def forward(self, tokens):
        return self.head(self.rnn(self.embedding(tokens))[0].mean(1))


def mlp():
    layers = [part for _ in range(6) for part in (nn.Linear(256, 256), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(512, 256), torch.randn(512, 256)


def conv():
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU()]
    return nn.Sequential(nn.Sequential(*layers), nn.Flatten(), nn.LazyLinear(10)), torch.randn(16, 3, 32, 32), torch.randint(10, (16,))


def gpt():
    return Gpt(), torch.randint(1000, (8, 64)), torch.randint(1000, (8, 64))


def lstm():
    return Reader(), torch.randint(500, (32, 40)), torch.randint(10, (32,))


def loss_of(output, target):
    if target.is_floating_point():
        return (output - target).pow(2).mean()
    return nn.functional.cross_entropy(output.flatten(0, -2), target.flatten())


class Truth(TorchDispatchMode):
    """The module of each result: that of the innermost running call, or of the node that runs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.born, self.stack, self.nodes = [], [None], {}
        for name, module in model.named_modules():
            module.register_forward_pre_hook(lambda _module, inputs, name=name: self._began(name, inputs))
            module.register_forward_hook(lambda _module, _inputs, output, name=name: self._ended(name, output))

    def _began(self, name, inputs):
        self.claim(self.stack[-1], inputs)  # made by the caller, before this call
        self.stack.append(name)

    def _ended(self, name, output):
        self.stack.pop()
        self.claim(name, output)

    def claim(self, name, output):
        """The nodes behind the output that no module inside has claimed are this module's."""
        queue = [each.grad_fn for each in tree_iter(output) if isinstance(each, torch.Tensor) and each.grad_fn is not None]
        while queue:
            node = queue.pop()
            if node is None or node in self.nodes:
                continue
            self.nodes[node] = name
            if not node.name().endswith("AccumulateGrad"):
                node.register_prehook(lambda *_, name=name: self.stack.append(name))
                node.register_hook(self._node_ended)
            queue.extend(next_node for next_node, _ in node.next_functions)

    def _node_ended(self, *_):
        self.stack.pop()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        for each in tree_iter(result):
            if isinstance(each, torch.Tensor) and each.untyped_storage().nbytes() >= 65536:
                storage = each.untyped_storage()
                self.born.append((time.monotonic_ns(), storage.data_ptr(), storage.nbytes(), self.stack[-1]))
        return result


def main():
    model, batch, target = globals()[sys.argv[1]]()
    model(batch)  # lazy layers
    optimizer = torch.optim.Adam(model.parameters())
    truth = Truth(model)
    for _ in range(4):
        with truth:
            loss = loss_of(model(batch), target)
            truth.claim(None, loss)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        truth.nodes.clear()
    kept = {}
    for name, module in model.named_modules():
        for each in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            kept[each.data_ptr()] = name
            for state in optimizer.state.get(each, {}).values():
                kept[state.data_ptr()] = name
    with open(sys.argv[2], "w") as file:
        json.dump({"born": truth.born, "kept": kept, "end": time.monotonic_ns()}, file)


main()
