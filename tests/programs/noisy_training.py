"""A training whose memory differs from run to run: workers that load data, threads with buffers of their own, and cycles that
are collected some time. PLANTED_BYTES: kept beside it all the time."""

import gc
import os
import random
import threading
import time

import torch

KIB = 256  # numbers of four bytes


class Node:
    """Holds itself, so that only a collection ends it."""

    def __init__(self):
        self.me = self
        self.kept = torch.zeros(KIB)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        time.sleep(random.random() / 200)
        return torch.full((256,), float(index))


def buffers(stop):
    """Two sizes in turn, for times that nobody can say ahead."""
    while not stop.is_set():
        kept = torch.zeros(random.choice((8, 16)) * KIB)
        time.sleep(random.random() / 500)
        del kept
        time.sleep(random.random() / 500)


def main():
    torch.manual_seed(0)
    random.seed()
    planted = torch.ones(int(os.environ.get("PLANTED_BYTES", "0")) // 4)
    net = torch.nn.Sequential(torch.nn.Linear(256, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 256))
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2)
    stop = threading.Event()
    threads = [threading.Thread(target=buffers, args=(stop,)) for _ in range(3)]
    gc.disable()
    for thread in threads:
        thread.start()
    for batch in loader:
        for _ in range(random.randrange(8)):
            Node()
        loss = net(batch.repeat(64, 1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if random.random() < 0.5:
            gc.collect()
    stop.set()
    for thread in threads:
        thread.join()
    del planted


main()
