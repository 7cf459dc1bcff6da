"""NCCL's all-gather by its own C function, in a communicator of its own: nothing of torch or of the executor between."""

from __future__ import annotations

import ctypes
import pathlib

import torch
import torch.distributed as dist

FLOAT = 7  # ncclFloat32


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def library() -> ctypes.CDLL:
    """The NCCL library that torch has loaded."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if "libnccl.so" in line:
            return ctypes.CDLL(line.split()[-1])
    raise SystemExit("error: torch has loaded no NCCL. Run this on a machine with GPUs.")


class RawNccl:
    def __init__(self, control: dist.ProcessGroup) -> None:
        """Call it on every rank of `control`, whose messages go through the CPU."""
        self.nccl = library()
        self.nothing = ctypes.CDLL(None).abs
        for function in (self.nccl.ncclAllGather, self.nothing):
            function.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_size_t, ctypes.c_int] + [ctypes.c_void_p] * 2
        unique = UniqueId()
        if dist.get_rank() == 0:
            self.check(self.nccl.ncclGetUniqueId(ctypes.byref(unique)))
        message = [bytes(unique)]
        dist.broadcast_object_list(message, src=0, group=control)
        unique = UniqueId.from_buffer_copy(message[0])
        self.communicator = ctypes.c_void_p()
        rank, size = dist.get_rank(), dist.get_world_size()
        self.check(self.nccl.ncclCommInitRank(ctypes.byref(self.communicator), size, unique, rank))

    def check(self, result: int) -> None:
        if result != 0:
            self.nccl.ncclGetErrorString.restype = ctypes.c_char_p
            raise SystemExit(f"error: NCCL: {self.nccl.ncclGetErrorString(result).decode()}")

    def arguments(self, shard: torch.Tensor, into: torch.Tensor) -> tuple:
        """The arguments of both functions: float32, on the current stream."""
        stream = torch.cuda.current_stream().cuda_stream
        return shard.data_ptr(), into.data_ptr(), shard.numel(), FLOAT, self.communicator, stream

    def all_gather(self, *arguments) -> None:
        self.check(self.nccl.ncclAllGather(*arguments))

    def destroy(self) -> None:
        self.check(self.nccl.ncclCommDestroy(self.communicator))
