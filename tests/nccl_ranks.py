"""Ranks of the executor over the tests' own NCCL (`programs/nccl`), a thread each, on the CPU.

`replace_simulated()`, and `pytest -p nccl_ranks ...`, give them to whoever asks for simulated ranks. As a program it trains,
with the options of dcmt_zero3.train.
"""

from __future__ import annotations

import ctypes
import os
import threading

import recorded
import torch
from zero3_ranks import ops

LIBRARY = str(recorded.BUILD / "lib" / "tests" / "libdcmt_test_nccl.so")

INVALID_ARGUMENT, INVALID_USAGE, SYSTEM_ERROR, INTERNAL_ERROR = 4, 5, 2, 3

os.environ["DCMT_NCCL_LIBRARY"] = LIBRARY
ops.nccl_unique_id()  # has it loaded, for as long as the process lives
del os.environ["DCMT_NCCL_LIBRARY"]

_library = ctypes.CDLL(LIBRARY)
_library.test_drain_calls.restype = ctypes.c_char_p
_lock = threading.Lock()
_ids: dict[int, torch.Tensor] = {}


def fail_next(function: str, result: int, rank: int = 0) -> None:
    """The next call of an NCCL function by this rank has this result, and does nothing else."""
    _library.test_fail(rank, function.encode(), result)


def drain_calls(rank: int = 0) -> list[str]:
    """The calls that this rank has made of NCCL since the last call of this function."""
    return _library.test_drain_calls(rank).decode().splitlines()


def init(world: int, rank: int, size: int, bucket_elements: int, device: str = "cpu", **options) -> None:
    """With the arguments of init_simulated."""
    with _lock:
        if world not in _ids:
            _ids[world] = ops.nccl_unique_id()
    ops.init_nccl(_ids[world], rank, size, device, bucket_elements, **options)


def replace_simulated() -> None:
    ops.init_simulated = init


def pytest_configure() -> None:
    replace_simulated()


def main() -> None:
    from dcmt_zero3 import train

    replace_simulated()
    make_units = train.make_units

    def one_after_the_other(arguments):
        """They are made with random numbers from one generator."""
        with _lock:
            return make_units(arguments)

    train.make_units = one_after_the_other
    train.main()


if __name__ == "__main__":
    main()
