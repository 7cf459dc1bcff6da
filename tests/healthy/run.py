"""Runs healthy programs, one after the other, in one process: run.py [--plant] NAME...

Each prints its name and a number. Its parameters have the graph whose number is its place in the list.
"""

import gc
import importlib
import sys

import torch

names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
plant = "--plant" in sys.argv
torch.set_num_threads(1)
for graph, name in enumerate(names):
    torch.manual_seed(0)
    print(name, importlib.import_module(name).main(graph, plant), flush=True)
    gc.collect()
