"""Gives the programs of this folder the operators of samples/zero3_release and the module dc_memtrace."""

import pathlib
import sys

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(_ROOT / "samples" / "zero3_release"), str(_ROOT / "python")]

from operators import (  # noqa: E402
    Release,
    allgather_param,
    gathered_bytes,
    release_param,
    set_final_release,
    shard_weight,
    wait_allgather,
)

__all__ = [
    "Release",
    "allgather_param",
    "gathered_bytes",
    "release_param",
    "set_final_release",
    "shard_weight",
    "wait_allgather",
]
