"""Weights that something keeps after their release. Each is accessed in a way of its own: before the release, or with --touch after it.
Both print the same losses, since the number that is read is a part of the loss.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import ctypes
import gc
import hashlib
import io
import queue
import signal
import struct
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy
import torch

import sample_operators as zero3

GRAPH = 7
ROWS, COLUMNS = 181, 203
AT = (ROWS - 1) * COLUMNS + 5  # an element in the last page


def element(numbers) -> float:
    return float(numbers[ROWS - 1, 5])


# Each way has what it takes from the weight before the release, and how it reads that. The line that reads has the way's name.
def bytes_of(weight: torch.Tensor) -> memoryview:
    return memoryview(weight.numpy()).cast("B").cast("f")


def address_of(weight: torch.Tensor) -> int:
    return weight.data_ptr() + 4 * AT


def rows_of(weight: torch.Tensor):
    def rows():
        yield 0.0
        for row in weight[ROWS - 1 :]:
            yield float(row[5])  # generator

    found = rows()
    next(found)
    return found


class Finalized:
    found: list[float] = []

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight = weight

    def __del__(self) -> None:
        self.found.append(element(self.weight.numpy()))  # finalizer


class Worker:
    """A thread that waits for its work, which it had before the release."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.go, self.found = threading.Event(), queue.SimpleQueue()
        self.thread = threading.Thread(target=self.work, args=(weight,), daemon=True)
        self.thread.start()

    def work(self, weight: torch.Tensor) -> None:
        self.go.wait()
        self.found.put(weight[ROWS - 1].double()[5].item())  # thread


def by_operator(weight):
    return (weight * 2).reshape(-1)[AT].item() / 2  # operator


def by_kernel_of_threads(weight):
    return torch.stack([weight, weight]).reshape(-1)[AT].item()  # kernel_of_threads


def by_view(row):
    return row.add(0)[5].item()  # view


def by_numpy(array):
    return element(array)  # numpy


def by_numpy_kernel(array):
    return float(numpy.ascontiguousarray(array[::-1])[0, 5])  # numpy_kernel


def by_dlpack(array):
    return float(array[ROWS - 1, 5])  # dlpack


def by_buffer(numbers):
    return numbers[AT]  # buffer


def by_struct(numbers):
    return struct.unpack_from("f", numbers, 4 * AT)[0]  # struct


def by_address(address):
    return ctypes.c_float.from_address(address).value  # address


def by_memmove(address):
    number = ctypes.c_float()
    ctypes.memmove(ctypes.byref(number), address, 4)  # memmove
    return number.value


def by_thread(worker):
    worker.go.set()
    found = worker.found.get()
    worker.thread.join()
    return found


def by_pool(array):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: float(array[ROWS - 1, 5])).result()  # pool


def by_signal(weight):
    found = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: found.append(element(weight.numpy())))  # signal
    signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    return found[0]


def by_data(weight):
    weight.data.mul_(1.0)  # data
    return weight[ROWS - 1, 5].item()


def by_storage(storage):
    return struct.unpack("f", bytes(storage[4 * AT + i] for i in range(4)))[0]  # storage


def by_save(weight):
    file = io.BytesIO()
    torch.save(weight, file)  # save
    file.seek(0)
    return element(torch.load(file).numpy())


def by_file(weight):
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(memoryview(weight.numpy()))  # file
        file.seek(4 * AT)
        return struct.unpack("f", file.read(4))[0]


def by_tofile(array):
    with tempfile.NamedTemporaryFile() as file:
        array.tofile(file.name)  # tofile
        return element(numpy.fromfile(file.name, dtype=numpy.float32).reshape(ROWS, COLUMNS))


def by_saved_file(weight):
    with tempfile.NamedTemporaryFile() as file:
        torch.save({"weight": weight}, file.name)  # saved_file
        return element(torch.load(file.name)["weight"].numpy())


def by_deepcopy(weight):
    return element(copy.deepcopy(weight).numpy())  # deepcopy


def by_hash(array):
    return hashlib.sha256(array).digest()[0] / 256  # hash


def by_generator(rows):
    return next(rows)


def by_finalizer(holder):
    holder.pop()
    gc.collect()
    return Finalized.found.pop()


def by_embedding(weight):
    return torch.nn.functional.embedding(torch.tensor([ROWS - 1]), weight)[0, 5].item()  # embedding


def by_task(array):
    async def read() -> float:
        await asyncio.sleep(0)
        return float(array[ROWS - 1, 5])  # task

    return asyncio.run(read())


def by_print(weight):
    return float(repr(weight[ROWS - 1 :, 5:6]).split("[[")[1].split("]")[0])  # print


WAYS = {
    "operator": (lambda weight: weight, by_operator),
    "kernel_of_threads": (lambda weight: weight, by_kernel_of_threads),
    "view": (lambda weight: weight[ROWS - 1], by_view),
    "numpy": (lambda weight: weight.numpy(), by_numpy),
    "numpy_kernel": (lambda weight: weight.numpy(), by_numpy_kernel),
    "dlpack": (lambda weight: numpy.from_dlpack(weight), by_dlpack),
    "buffer": (bytes_of, by_buffer),
    "struct": (bytes_of, by_struct),
    "address": (address_of, by_address),
    "memmove": (address_of, by_memmove),
    "thread": (Worker, by_thread),
    "pool": (lambda weight: weight.numpy(), by_pool),
    "signal": (lambda weight: weight, by_signal),
    "data": (lambda weight: weight, by_data),
    "storage": (lambda weight: weight.untyped_storage(), by_storage),
    "save": (lambda weight: weight, by_save),
    "file": (lambda weight: weight, by_file),
    "tofile": (lambda weight: weight.numpy(), by_tofile),
    "saved_file": (lambda weight: weight, by_saved_file),
    "deepcopy": (lambda weight: weight, by_deepcopy),
    "hash": (lambda weight: weight.numpy(), by_hash),
    "generator": (rows_of, by_generator),
    "finalizer": (lambda weight: [Finalized(weight)], by_finalizer),
    "embedding": (lambda weight: weight, by_embedding),
    "task": (lambda weight: weight.numpy(), by_task),
    "print": (lambda weight: weight, by_print),
}


class ReadInBackward(torch.autograd.Function):
    """Its backward multiplies by numbers that it takes then."""

    @staticmethod
    def forward(ctx, inputs: torch.Tensor, reads) -> torch.Tensor:
        ctx.reads = reads
        return inputs.clone()

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        for read in ctx.reads:
            gradient = gradient * (1 + read())
        return gradient, None


def released(key: int, inputs: torch.Tensor, use) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight after its release, and the output of its layer."""
    weight = zero3.wait_allgather(zero3.allgather_param(SHARDS[key], GRAPH, key), GRAPH, key)
    hidden = torch.nn.functional.linear(inputs, use(weight))
    zero3.release_param(hidden, GRAPH, key, 1)
    return weight, hidden


def step(ways: list[str], touch: bool, head: torch.nn.Linear, inputs: torch.Tensor) -> torch.Tensor:
    kept, hidden, reads = [], [], []
    for key, way in enumerate(ways):

        def use(weight: torch.Tensor, take=WAYS[way][0], read=WAYS[way][1]) -> torch.Tensor:
            taken = take(weight)
            number = None if touch else read(taken)
            reads.append(lambda: read(taken) if touch else number)
            return weight

        weight, output = released(key, inputs, use)
        kept.append(weight)
        hidden.append(output)
    untouched, output = released(len(ways), inputs, lambda weight: weight)
    saved, saved_output = released(len(ways) + 1, inputs.detach().requires_grad_(), lambda weight: weight if touch else weight.clone())
    kept += [untouched, saved]
    del weight, untouched, saved
    total = sum(hidden) + output + saved_output
    for _ in range(300):
        total = total * 0.999 + 0.001
    outputs = ReadInBackward.apply(head(total), reads[1::2])
    loss = outputs.square().mean()
    for read in reads[::2]:
        loss = loss * (1 + read())
    loss.backward()  # saved by autograd
    return loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", help="every second one is in a backward; default: all")
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--steps", type=int, default=2)
    arguments = parser.parse_args()
    ways = arguments.ways or [*WAYS]

    global SHARDS
    torch.manual_seed(0)
    SHARDS = [zero3.shard_weight(GRAPH, key, torch.randn(ROWS, COLUMNS) / COLUMNS) for key in range(len(ways) + 2)]
    head = torch.nn.Linear(ROWS, 4)
    optimizer = torch.optim.SGD(head.parameters(), lr=1e-3)
    inputs = torch.randn(8, COLUMNS)
    for _ in range(arguments.steps):
        loss = step(ways, arguments.touch, head, inputs)
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item().hex(), head.weight.detach().double().sum().item().hex())
        del loss
        gc.collect()


if __name__ == "__main__":
    main()
