"""Stands between two steps of a training and lets go of what it is asked to: what that frees, by weak references to all storages.

Usage: held_training.py gpt|vit|lora. It prints its process id when it is ready. Then it reads expressions, one a line. For each
it forks, and the child deletes the expression, collects cycles, and prints the bytes of the storages that have gone.
"""

import copy
import gc
import os
import sys

import categories
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Births(TorchDispatchMode):
    """Keeps a weak reference to each storage that an operator returns, and its bytes."""

    def __init__(self):
        super().__init__()
        self.storages = {}

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, torch.Tensor):
                self.note(each.untyped_storage())
        return result

    def note(self, storage):
        weak = StorageWeakRef(storage)
        self.storages[weak.cdata] = (weak, storage.nbytes())

    def alive(self):
        return sum(size for weak, size in self.storages.values() if not weak.expired())


births = Births()
births.__enter__()
torch.manual_seed(0)
torch.set_num_threads(1)
kind = sys.argv[1]
model = categories.make(kind)
average = copy.deepcopy(model)
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], foreach=False)
outputs, batches, features = [], [], {}
for step in range(3):
    data, target = categories.batch(kind)
    loss = categories.forward(kind, model, data, target)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    outputs.append(categories.forward(kind, average, data, target))
    batches.append(torch.randn(3, 200_000))
    features[step] = [torch.randn(100_000 * (step + 1)) for _ in range(2)]
    shared = batches[-1]
loss = categories.forward(kind, model, data, target)


def freed_by(expression):
    before = births.alive()
    exec(f"del {expression}", globals())
    gc.collect()
    return before - births.alive()


births.__exit__(None, None, None)
gc.collect()
print(os.getpid(), flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print(freed_by(line.strip()), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
