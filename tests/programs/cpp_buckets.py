"""A backward leaves tensors with C++ objects alone, as a library's static buckets; the training goes on.

Usage: cpp_buckets.py LIBRARY STEP
"""

import ctypes
import sys

import torch

KINDS = 10  # of native_holders.cpp
STEPS, PLANTED = 40, int(sys.argv[2])
library = ctypes.CDLL(sys.argv[1])
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0


def plant(_):
    if step == PLANTED:
        library.plant_native_holders((ctypes.c_void_p * KINDS)())


for step in range(STEPS):
    out = model(torch.ones(8, 64))
    out.register_hook(plant)
    out.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
