"""A training on a GPU to attach to: attached_cuda.py FOLDER [STEPS]

Trains until there is FOLDER/end, or STEPS steps, with a second stream and a graph that is replayed. With FOLDER/grow it
keeps 32 MiB more of each step. After each step FOLDER/stats has the allocator's own figures. With FOLDER/pause it waits
between two steps until that is gone, and FOLDER/blocks has what the allocator has handed out and what it has reserved.
Prints losses and a digest of the parameters.
"""

import hashlib
import json
import pathlib
import sys
import time

import torch

folder = pathlib.Path(sys.argv[1])
most = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 60

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
device = torch.device("cuda:0")
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
side = torch.cuda.Stream()
weighed = torch.zeros(1 << 18, device=device)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    weight = (weighed * 2).relu().mean()
losses = []
kept = []
while len(losses) < most and not (folder / "end").exists():
    generator = torch.Generator().manual_seed(len(losses))
    inputs = torch.randn(256, 1024, generator=generator).to(device)
    with torch.cuda.stream(side):
        scaled = torch.ones(1 << 20, device=device) * 2
        scaled.record_stream(torch.cuda.current_stream())
    weighed.copy_(inputs.view(-1)[: 1 << 18])
    graph.replay()
    loss = model(inputs).square().mean() + weight
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if (folder / "grow").exists() and len(kept) < 200:
        kept.append(torch.empty(8 << 20, device=device))
    losses.append(loss.item())
    stats = torch.cuda.memory_stats()
    written = folder / "stats.new"
    written.write_text(json.dumps({name: stats[f"{name}_bytes.all.current"] for name in ("allocated", "reserved")}))
    written.rename(folder / "stats")
    if (folder / "pause").exists() and not (folder / "blocks").exists():
        blocks = [
            [segment["address"] + sum(before["size"] for before in segment["blocks"][:place]), block["size"]]
            for segment in torch.cuda.memory_snapshot()
            for place, block in enumerate(segment["blocks"])
            if block["state"] == "active_allocated"
        ]
        segments = [[segment["address"], segment["total_size"]] for segment in torch.cuda.memory_snapshot()]
        there = {"blocks": blocks, "allocated": torch.cuda.memory_allocated(), "segments": segments}
        written = folder / "blocks.new"
        written.write_text(json.dumps(there))
        written.rename(folder / "blocks")
        while (folder / "pause").exists():
            time.sleep(0.01)
    time.sleep(0.02)
digest = hashlib.sha256()
for parameter in model.parameters():
    digest.update(parameter.detach().cpu().numpy().tobytes())
print(json.dumps({"losses": losses, "parameters": digest.hexdigest()}), flush=True)
