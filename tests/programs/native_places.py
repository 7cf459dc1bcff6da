"""240 places of an extension allocate: python native_places.py LIBRARY SEED BYTES. Prints what each place keeps."""

import ctypes
import sys

import torch

library, size = ctypes.CDLL(sys.argv[1]), ctypes.c_long(int(sys.argv[3]) // 10)
library.kept.restype = ctypes.c_long
library.seed(ctypes.c_long(int(sys.argv[2])))
weight = torch.ones(8)
for _ in range(10):
    for number in range(10, 250):
        library[f"place_{number}"](size)
    (weight * 2).sum()
print(*(f"place_{number}={library.kept(number)}" for number in range(10, 250)))
