"""Two linear layers whose validation losses are kept in a list, for a curve, with the graphs behind them.

Usage: train.py [--numbers], which keeps numbers instead.
"""

import sys

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(40):
    optimizer.zero_grad()
    model(torch.randn(256, 256)).square().mean().backward()
    optimizer.step()
    loss = model(torch.randn(256, 256)).square()
    losses.append(loss.mean().item() if "--numbers" in sys.argv else loss)
