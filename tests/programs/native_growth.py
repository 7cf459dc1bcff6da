"""A small training whose extension keeps memory of C and C++: python native_growth.py LIBRARY KIND STEPS.

Kinds: "leaks", "healthy", and "few": only records, 96 KB a step. Prints the bytes that each function of the extension keeps, as it counts them itself."""

import ctypes
import sys
import time

import torch

library, kind, steps = ctypes.CDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3])
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
library.kept.restype = ctypes.c_long
asked = 0


def ask_for_more():
    global asked
    for _ in range(200):
        ctypes.memset(libc.malloc(2000), 1, 2000)
        asked += 2000


def leak():
    library.keep_records(8000)
    library.keep_rows(400)
    library.keep_lines(800)
    library.keep_index(8000)
    library.keep_pages(6)
    ask_for_more()


def work():
    library.use_buffers(1000)
    library.fill_cache(3000)
    library.use_arena(2500)
    library.use_window(10_000)


turn = {"leaks": leak, "healthy": work, "few": lambda: library.keep_records(2000)}[kind]
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(steps):
    loss = model(torch.randn(64, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    turn()
    time.sleep(0.02)
print(*(library.kept(i) for i in range(5)), asked)
