"""Writes what tests/memory_snapshot_test.py reads: torch's memory snapshots of a small program on a GPU, and beside each, as
JSON, what torch's own counters said after every operation of it.

Usage, on a machine with a GPU and torch 2.11:  python tests/gpu/make_snapshot_fixture.py tests/testdata

Each case runs in a process of its own, so that its history begins with an empty allocator. The number of an operation is
in the snapshot's entries as `user_metadata`, "op N": the last entry of N is where the counters were read.
"""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import subprocess
import sys

MOST_BYTES = 200 << 10  # of all files together, since they lie in the repository
COUNTERS = ("requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes")

# name: (environment, arguments of _record_memory_history)
CASES = {
    "whole": ({}, {"stacks": "python", "global_record_annotations": True}),
    "cut": ({}, {"stacks": "python", "max_entries": 60}),
    "expandable": ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, {"stacks": "python", "context": "alloc"}),
    "no_history": ({}, {"enabled": "state", "stacks": "python"}),
    "cpp_frames": ({}, {"stacks": "all", "max_entries": 6}),
}


def main(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for case, (environment, _) in CASES.items():
        subprocess.run([sys.executable, __file__, str(folder), case], env={**os.environ, **environment}, check=True)
    sizes = {path.name: path.stat().st_size for path in sorted(folder.glob("snapshot_*"))}
    print(json.dumps(sizes, indent=1))
    if sum(sizes.values()) > MOST_BYTES:
        sys.exit(f"{sum(sizes.values())} bytes, more than {MOST_BYTES}: record fewer operations")


def without_folders(value) -> None:
    """Files of frames by a name that they have on every machine. Frames are shared, and stay so."""
    done, todo = set(), [value]
    while todo:
        each = todo.pop()
        if not isinstance(each, (dict, list)) or id(each) in done:
            continue
        done.add(id(each))
        if isinstance(each, dict) and "filename" in each:
            name = each["filename"]
            _, packages, rest = name.rpartition("-packages/")
            each["filename"] = "/python/site-packages/" + rest if packages else "/program/" + name.rpartition("/")[2]
        todo.extend(each.values() if isinstance(each, dict) else each)


def record(folder: pathlib.Path, case: str) -> None:
    import torch

    memory = torch.cuda.memory
    memory._record_memory_history(**CASES[case][1])
    after: list[dict[str, int]] = []

    def counted() -> None:
        stats = torch.cuda.memory_stats()
        after.append({name: stats[f"{name}.all.current"] for name in COUNTERS})

    def operations():
        """One operation of the program before each `yield`; its number is that of the counters that are read there."""
        model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 3001)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        kept = []
        yield
        for step in range(3):
            with torch.profiler.record_function(f"train step {step}"):
                batch = torch.ones(64, 512, device="cuda")
                loss = model(batch).square().mean()
                kept.append(loss)  # a list of losses with their graphs
                yield
                loss.backward(retain_graph=True)
                yield
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                yield
        large = torch.empty(30_000_001, dtype=torch.uint8, device="cuda")
        yield
        other = torch.cuda.Stream()
        with torch.cuda.stream(other):
            torch.cuda._sleep(200_000_000)  # so that the block waits for this stream
            large.add_(1)
        large.record_stream(other)
        del large
        yield
        torch.ones(7, device="cuda")
        yield
        torch.cuda.synchronize()
        torch.ones(7, device="cuda")  # at each allocation, the allocator checks which blocks wait
        yield
        torch.cuda.empty_cache()
        yield
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            yield
        with torch.cuda.stream(other):
            kept.append(torch.zeros(1000, 333, device="cuda"))
        yield
        yield kept  # what it holds is alive in the snapshot

    steps = operations()
    held = None
    for number in range(1 << 30):
        memory._set_memory_metadata(f"op {number}")
        try:
            held = next(steps)
        except StopIteration:
            break
        counted()
        if held is not None:
            break
    memory._set_memory_metadata("")
    path = folder / f"snapshot_{case}.pickle"
    snapshot = memory._snapshot()
    without_folders(snapshot)
    path.write_bytes(pickle.dumps(snapshot))  # as _dump_snapshot does
    stats = torch.cuda.memory_stats()
    expected = {
        "torch": torch.__version__,
        "peaks": {name: stats[f"{name}.all.peak"] for name in COUNTERS},
        "after_operation": after,
    }
    path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(pathlib.Path(sys.argv[1]))
    elif len(sys.argv) == 3:
        record(pathlib.Path(sys.argv[1]), sys.argv[2])
    else:
        sys.exit(__doc__)
