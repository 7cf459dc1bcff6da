"""Jobs of one or several processes, each with memory of its own kind. When all of it is there they say so and wait for a file."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time

import torch

MIB = 1 << 20
FOLDER = pathlib.Path(sys.argv[2])


def wait() -> None:
    (FOLDER / f"ready.{os.getpid()}").touch()
    while not (FOLDER / "stop").exists():
        time.sleep(0.05)


def train() -> None:
    """A step, so that the process has a trace."""
    torch.nn.Linear(256, 256)(torch.rand(64, 256)).sum().backward()


def own(mib: int) -> bytearray:
    memory = bytearray(mib * MIB)
    memory[::4096] = b"x" * (mib * 256)
    return memory


class Texts(torch.utils.data.Dataset):
    def __init__(self, count: int) -> None:
        self.texts = [f"text {number:9} of the data set" for number in range(count)]

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> int:
        if index < 4:  # each worker reads all texts once
            sum(map(len, self.texts))
        return index


def alone() -> None:
    train()
    memory = own(200)
    wait()
    print(len(memory))


def workers() -> None:
    train()
    texts = Texts(int(sys.argv[3]))
    loader = iter(torch.utils.data.DataLoader(texts, batch_size=1, num_workers=4, prefetch_factor=1))
    for _ in range(8):
        next(loader)
    wait()


def rank() -> None:
    torch.distributed.init_process_group("gloo")
    train()
    value = torch.ones(10 * MIB)
    torch.distributed.all_reduce(value)
    memory = own(100 * (1 + torch.distributed.get_rank()))
    wait()
    torch.distributed.destroy_process_group()
    print(len(memory))


def reader(tensor: torch.Tensor) -> None:
    tensor.sum()
    wait()


def shared() -> None:
    train()
    tensors = [torch.ones(20 * MIB).share_memory_() for _ in range(2)]
    anonymous = mmap.mmap(-1, 40 * MIB)
    anonymous.write(b"x" * (30 * MIB))
    readers = [multiprocessing.get_context("fork").Process(target=reader, args=(tensor,)) for tensor in tensors]
    for each in readers:
        each.start()
    wait()
    for each in readers:
        each.join()


def left() -> None:
    train()
    (pathlib.Path("/dev/shm") / f"job-memory-{os.getpid()}").write_bytes(bytes(64 * MIB))
    memory = own(100)
    wait()
    (pathlib.Path("/dev/shm") / f"job-memory-{os.getpid()}").unlink()
    print(len(memory))


def cache() -> None:
    """Reads a file of 300 MiB, which stays in the page cache, and maps a third of it."""
    train()
    path = FOLDER / "data.bin"
    with open(path, "wb") as file:
        for _ in range(300):
            file.write(bytes(MIB))
        file.flush()
        os.fsync(file.fileno())
    with open(path, "rb") as file:
        while file.read(MIB):
            pass
        mapped = mmap.mmap(file.fileno(), 100 * MIB, access=mmap.ACCESS_READ)
        sum(mapped[::4096])
        wait()


def server() -> None:
    """Forks workers without an exec, which write to a part of what they have inherited; and a child of another program."""
    train()
    inherited = own(200)
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            inherited[: (10 + number) * MIB] = b"y" * ((10 + number) * MIB)
            wait()
            os._exit(0)
        children.append(child)
    other = subprocess.Popen([sys.executable, "-S", "-c", "import sys; x = bytes([1]) * (50 << 20); sys.stdin.read()"],
                             stdin=subprocess.PIPE)
    time.sleep(1)
    wait()
    other.stdin.close()
    other.wait()
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
