"""Keeps tensors by C++ objects alone, writes the addresses of their data to FILE, and waits for the end of its input.

Usage: native_holders.py LIBRARY FILE
"""

import ctypes
import json
import os
import sys

import torch  # noqa: F401  what the library needs

KINDS = ("variable", "vector", "map", "session", "list", "storage", "hidden", "thread-local", "buckets", "running")
library = ctypes.CDLL(sys.argv[1])
data = (ctypes.c_void_p * len(KINDS))()
library.plant_native_holders(data)
with open(sys.argv[2] + ".new", "w") as file:
    json.dump(dict(zip(KINDS, data)), file)
os.rename(sys.argv[2] + ".new", sys.argv[2])
sys.stdin.read()
