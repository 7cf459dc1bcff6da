"""A program that records blocks of its own: recorded_blocks.py FOLDER BLOCKS. Prints their facts as JSON."""

import gc
import json
import os
import pathlib
import resource
import sys
import time
import warnings

import torch

import dc_memtrace

folder = pathlib.Path(sys.argv[1])
blocks = int(sys.argv[2])
torch.set_num_threads(1)


def figures() -> dict[str, int]:
    status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
    return {
        "threads": int(status["Threads"]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": len(pathlib.Path("/proc/self/maps").read_text().splitlines()),
        "resident KiB": int(status["VmRSS"].split()[0]),
        "objects": len(gc.get_objects()),
    }


before = torch.ones(300_000)
answer: dict = {"recorded before": dc_memtrace.recording()}

# What a block has, and what it had before.
with dc_memtrace.record(folder / "whole", detail="full") as whole:
    answer["recorded inside"] = dc_memtrace.recording()
    with dc_memtrace.phase("work"):
        kept = torch.ones(200_000)
        del before
        torch.ones(100_000)
    dc_memtrace.step()
    # The recorder's counts are valid some time after it has read what there was before.
    until = time.monotonic() + 60
    while dc_memtrace.peak().get("cpu/allocated_bytes") != 800_000 and time.monotonic() < until:
        time.sleep(0.005)
    answer["counted inside"] = {name: value for name, value in dc_memtrace.peak().items() if name.startswith("cpu/")}
    try:
        dc_memtrace.record(folder / "inner").__enter__()
    except dc_memtrace.MemtraceError as error:
        answer["inner"] = str(error)
answer["recorded after"] = dc_memtrace.recording()
answer["whole"] = {"peak": whole.peak_bytes, "trace": whole.trace.name}

# An exception goes through, and the trace is finished.
try:
    with dc_memtrace.record(folder / "raises", owners=False, kernels=True) as raises:
        torch.ones(400_000)
        raise KeyError("of the program")
except KeyError:
    answer["raises"] = raises.peak_bytes

for name, make in {
    "used": lambda: dc_memtrace.record(folder / "whole"),
    "detail": lambda: dc_memtrace.record(folder / "detail", detail="everything"),
    "twice": lambda: whole,
}.items():
    try:
        make().__enter__()
    except (ValueError, dc_memtrace.MemtraceError) as error:
        answer[name] = str(error)

# From CPython 3.12 on, a fork beside any thread warns, and the one of this package is one.
warnings.simplefilter("ignore", DeprecationWarning)
child = os.fork()
if child == 0:
    try:
        dc_memtrace.record(folder / "child").__enter__()
    except dc_memtrace.MemtraceError as error:
        (folder / "forked").write_text(str(error))
    os._exit(0)
os.waitpid(child, 0)

# One block after another, each over the trace of the one before.
answer["figures"] = []
answer["peaks"] = []
for number in range(blocks):
    with dc_memtrace.record(folder / "again", owners=False, replace=True) as again:
        values = torch.ones(20_000 + number)
        del values
    answer["peaks"].append(again.peak_bytes["cpu"] == 4 * (20_000 + number))
    if number % max(1, blocks // 20) == 0:
        gc.collect()
        answer["figures"].append(figures())

answer["kept"] = [kept.untyped_storage().data_ptr(), kept.untyped_storage().nbytes()]
answer["holders"] = dc_memtrace.holders(kept)
answer["snapshot"] = [[each.address, each.bytes] for each in dc_memtrace.snapshot(smallest=1) if each.bytes == 800_000]
for name, tensor in {"no tensor": [1], "no memory": torch.empty(0), "meta": torch.empty(9, device="meta")}.items():
    try:
        dc_memtrace.holders(tensor)
    except (TypeError, ValueError) as error:
        answer[name] = f"{type(error).__name__}: {error}"
answer["peak"] = dc_memtrace.peak()
answer["ru_maxrss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(answer), flush=True)
sys.stdin.read()
