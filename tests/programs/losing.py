"""A training that keeps its validation losses, and stops its recorder for a while, so that records are lost.

What it makes meanwhile fills a spool of 1 MiB twice over. Afterwards it goes on for more steps.
"""

import os
import signal
import time

import torch

STEPS = 40
STOPPED = range(20, 22)  # steps in which the recorder is stopped
FILL = 8_000  # tensors; with detail `full` the spool has room for the records of less than half of them
RECORDER = os.getppid()


def is_stopped(process):
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


def stop_recorder():
    os.kill(RECORDER, signal.SIGSTOP)
    while not is_stopped(RECORDER):
        time.sleep(0.001)
    for _ in range(FILL):
        torch.empty(25_000)


model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(STEPS):
    if step == STOPPED.start:
        stop_recorder()
    if step == STOPPED.stop:
        os.kill(RECORDER, signal.SIGCONT)
        time.sleep(0.3)  # the recorder reads what the spool has, and the spool has room again
    optimizer.zero_grad()
    model(torch.randn(256, 256)).square().mean().backward()
    optimizer.step()
    losses.append(model(torch.randn(256, 256)).square())
