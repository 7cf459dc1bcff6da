"""A training on two GPUs over NCCL, for torchrun, to attach to: attached_nccl.py FOLDER [STEPS]

Trains until there is FOLDER/end, or STEPS steps. FOLDER/pidN has the process id of rank N once it trains. Rank 0 prints the
losses and a digest of the parameters.
"""

import hashlib
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist

folder = pathlib.Path(sys.argv[1])
most = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 60
rank = int(os.environ["RANK"])

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl")
net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to(device)
model = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
losses = []
while True:
    # The ranks end in the same step.
    goes_on = torch.tensor(int(len(losses) < most and not (folder / "end").exists()), device=device)
    dist.all_reduce(goes_on, dist.ReduceOp.MIN)
    if not goes_on.item():
        break
    generator = torch.Generator().manual_seed(2 * len(losses) + rank)
    loss = model(torch.randn(64, 1024, generator=generator).to(device)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
    (folder / f"pid{rank}").write_text(str(os.getpid()))
digest = hashlib.sha256()
for parameter in net.parameters():
    digest.update(parameter.detach().cpu().numpy().tobytes())
if rank == 0:
    print(json.dumps({"losses": losses, "parameters": digest.hexdigest()}), flush=True)
dist.destroy_process_group()
