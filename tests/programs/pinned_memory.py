"""Allocates page-locked memory and frees some of it; prints what is alive at each mark by its own count, where it lies,
and what torch's own counter of it says."""

from __future__ import annotations

import json

import torch

import dc_memtrace

SIZES = {"padded": 3 << 20, "whole": 1 << 20, "odd": 100_000, "small": 1000}

torch.cuda.init()  # without it torch does not say what it counted
allocated = {name: torch.empty(size, dtype=torch.uint8, pin_memory=True) for name, size in SIZES.items()}
addresses = {name: tensor.data_ptr() for name, tensor in allocated.items()}
counted = torch.cuda.host_memory_stats()["allocated_bytes.current"]
dc_memtrace.mark("all")
view = allocated.pop("padded")[:10]
del allocated["whole"], allocated["small"]
dc_memtrace.mark("less")
alias = torch.from_numpy(allocated["odd"].numpy())
del alias, view
dc_memtrace.mark("one")
again = torch.empty(SIZES["padded"], dtype=torch.uint8, pin_memory=True)
dc_memtrace.mark("again")
on_gpu = again.cuda(non_blocking=True)
torch.cuda.synchronize()
where = again.data_ptr()
again.untyped_storage().resize_(0)
dc_memtrace.mark("emptied")
print(json.dumps({"addresses": addresses, "counted": counted, "again": where}))
