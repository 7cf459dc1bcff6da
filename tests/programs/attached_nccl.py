"""A training on two GPUs over NCCL, for torchrun, to attach to: attached_nccl.py FOLDER [STEPS]

Trains until there is FOLDER/end, with a pause after each step, or STEPS steps without. In each step a kernel of the program's
own reads a tensor after its release. FOLDER/pidN has the process id of rank N once it trains. Rank 0 prints the losses, a
digest of the parameters, and what the kernel has summed.
"""

import hashlib
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from late_uses import ELEMENTS, SOURCE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import dc_memtrace  # noqa: E402

KEY = 7
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
late_read = torch.cuda._compile_kernel(SOURCE, "late_read")
total = torch.zeros(1, device=device)
losses = []
while True:
    # The ranks end in the same step.
    goes_on = torch.tensor(int(len(losses) < most and not (folder / "end").exists()), device=device)
    dist.all_reduce(goes_on, dist.ReduceOp.MIN)
    if not goes_on.item():
        break
    generator = torch.Generator().manual_seed(2 * len(losses) + rank)
    weight = torch.full((ELEMENTS,), len(losses) % 8 + 1.0, device=device)
    dc_memtrace.gather(KEY, weight)
    loss = model(torch.randn(64, 1024, generator=generator).to(device)).square().mean() + weight.mean()
    loss.backward()
    with dc_memtrace.release(KEY):
        pass
    late_read(grid=(1, 1, 1), block=(32, 1, 1), args=[weight, total, ELEMENTS])
    weight = None
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
    (folder / f"pid{rank}").write_text(str(os.getpid()))
    if len(sys.argv) == 2:
        time.sleep(0.02)
digest = hashlib.sha256()
for parameter in net.parameters():
    digest.update(parameter.detach().cpu().numpy().tobytes())
if rank == 0:
    print(json.dumps({"losses": losses, "parameters": digest.hexdigest(), "total": total.item()}), flush=True)
dist.destroy_process_group()
