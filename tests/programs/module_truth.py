"""Trains a small model, and writes which module each storage was made for, as hooks of torch itself see it.

Usage: module_truth.py MODEL FILE. The file has {"born": [[ns, address, bytes, module or null], ...], "kept": {address: module}, "end": ns}: the
first are results of operators, at the time when the operator had returned; the second parameters, buffers and the optimizer's state
at the end. A module is named as named_modules() does.
"""

import json
import sys
import time

import torch
from small_models import MODELS, loss_of
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


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
    model, batch, target = MODELS[sys.argv[1]]()
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
