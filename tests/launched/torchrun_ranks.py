"""Two ranks of torchrun."""

import torch
import training

torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
kept = []
training.train(model, torch.optim.SGD(model.parameters(), 0.01), kept if torch.distributed.get_rank() == 1 else None)
torch.distributed.destroy_process_group()
