"""Ways to use the memory of a GPU that no operator of torch shows: a kernel of the program's own, and a copy by the runtime."""

from __future__ import annotations

import ctypes

import torch

ELEMENTS = 1 << 20
SOURCE = """
extern "C" __global__ void late_read(const float* weight, float* sum, int elements) {
  if (threadIdx.x == 0) atomicAdd(sum, weight[0] + weight[elements - 1]);
}
"""


def copy_to_host(tensor: torch.Tensor) -> float:
    """By the runtime, past torch: no operator shows it."""
    host = (ctypes.c_float * 4)()
    runtime = ctypes.CDLL("libcudart.so.13")
    device_to_host = 2
    status = runtime.cudaMemcpy(host, ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(16), device_to_host)
    assert status == 0, status
    return host[0]
