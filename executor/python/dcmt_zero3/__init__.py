"""The operators torch.ops.dcmt_z3, worlds of simulated ranks, and training with sharded parameters."""

from __future__ import annotations

import os
import pathlib

import torch

_NAME = "libdcmt_zero3.so"


def _library() -> pathlib.Path:
    """The library named by DCMT_ZERO3_LIBRARY, else the one in the build folder: DCMT_BUILD_DIR, or in the tree."""
    if named := os.environ.get("DCMT_ZERO3_LIBRARY"):
        return pathlib.Path(named)
    root = pathlib.Path(__file__).resolve().parents[3]
    builds = [pathlib.Path(os.environ.get("DCMT_BUILD_DIR", root / "build" / "dev")), root / "build" / "release"]
    for build in builds:
        if (build / "lib" / "dcmt" / _NAME).exists():
            return build / "lib" / "dcmt" / _NAME
    raise ImportError(f"{_NAME} is not built; DCMT_ZERO3_LIBRARY names one elsewhere")


torch.ops.load_library(_library())
ops = torch.ops.dcmt_z3
