"""Torch's CUDA allocator lists blocks with stacks that this program has made up: planted.py FOLDER LIBRARY

FOLDER/blocks then has them in their order: bytes, and the places of the stack, innermost first. Ends when there is FOLDER/end.
"""

import ctypes
import json
import pathlib
import sys
import time

import torch

folder = pathlib.Path(sys.argv[1])
library = ctypes.PyDLL(sys.argv[2])
library.plant.argtypes = [ctypes.c_size_t, ctypes.c_int]
planted = []


def places():
    """Of the caller."""
    frame, found = sys._getframe(1), []
    while frame:
        found.append([frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def several():
    for mib in (2, 3, 5):
        library.plant(mib << 20, 1), planted.append([mib << 20, places()])


def deep(depth):
    if depth != 0:
        return deep(depth - 1)
    library.plant(7 << 20, 1), planted.append([7 << 20, places()])


library.plant_begin()
library.plant(13 << 20, 0), planted.append([13 << 20, []])
several()
deep(3)
deep(80)
# Only torch has its code object from then on.
exec(compile("library.plant(11 << 20, 1), planted.append([11 << 20, places()])", "made.py", "exec"), dict(globals()))
written = folder / "blocks.new"
written.write_text(json.dumps(planted))
written.rename(folder / "blocks")
while not (folder / "end").exists():
    torch.ones(100_000)
    time.sleep(0.003)
library.plant_end()
print("ended", flush=True)
