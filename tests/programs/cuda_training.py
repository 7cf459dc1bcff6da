"""Trains on a GPU and prints, for every step, what torch's allocator counts when all work of the step is done.

One JSON line: the losses in hexadecimal and the counts. A step's peak is the highest since the step before.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # what deterministic algorithms ask for

import torch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402
from cuda_models import MODELS  # noqa: E402

COUNTS = ("allocated_bytes.all.current", "allocated_bytes.all.peak", "allocation.all.allocated",
          "allocation.all.freed", "active_bytes.all.current", "reserved_bytes.all.current")


def main() -> None:
    model, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    step = MODELS[model]()
    losses, counts = [], []
    for _ in range(steps):
        loss = step()
        torch.cuda.synchronize()
        losses.append(loss.item().hex())
        del loss
        stats = torch.cuda.memory_stats()
        dc_memtrace.step()
        counts.append({name: stats[name] for name in COUNTS})
        torch.cuda.reset_peak_memory_stats()
    print(json.dumps({"losses": losses, "counts": counts}), flush=True)


if __name__ == "__main__":
    main()
