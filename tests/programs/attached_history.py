"""Keeps blocks of a GPU, some of them from before torch keeps its history: attached_history.py FOLDER STACKS

FOLDER/blocks then has torch's own list: address, bytes, and the places of the allocation, innermost first. Ends when there is
FOLDER/end; until then it allocates and frees.
"""

import json
import pathlib
import sys
import time

import torch

folder = pathlib.Path(sys.argv[1])
MIB = 1 << 20


def weights():
    return [torch.empty(count * MIB, device="cuda", dtype=torch.uint8) for count in (2, 3, 5)]


def deep(depth):
    return torch.empty(7 * MIB, device="cuda", dtype=torch.uint8) if depth == 0 else deep(depth - 1)


def from_text():
    """Its code object is the block's alone from then on."""
    place = {"torch": torch}
    exec(compile("kept = torch.empty(11 << 20, device='cuda', dtype=torch.uint8)", "made.py", "exec"), place)
    return place["kept"]


early = torch.empty(14 * MIB, device="cuda", dtype=torch.uint8)
torch.cuda.memory._record_memory_history(context="all", stacks=sys.argv[2])
kept = [*weights(), deep(3), deep(80), from_text(), torch.nn.Linear(1024, 1024).cuda()]
dropped = deep(1)
del dropped
blocks = []
for segment in torch.cuda.memory._snapshot()["segments"]:
    for block in segment["blocks"]:
        if block["state"] == "active_allocated":
            places = [[frame["filename"], frame["line"]] for frame in block.get("frames", [])]
            blocks.append([block["address"], block["size"], places])
written = folder / "blocks.new"
written.write_text(json.dumps(blocks))
written.rename(folder / "blocks")
while not (folder / "end").exists():
    other = deep(2)
    time.sleep(0.005)
    del other
# Who held the code objects gives them up.
del kept
torch.cuda.memory._record_memory_history(enabled=None)
print("ended", flush=True)
