"""A training that gives a tensor of each step to a library, which keeps it: cpp_given.py LIBRARY."""

import sys

import torch

torch.ops.load_library(sys.argv[1])
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(60):
    out = model(torch.ones(512, 64))
    out.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.ops.planted.keep(out.detach().sigmoid())  # given
