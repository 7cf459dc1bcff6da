"""Two processes of accelerate."""

import torch
import training
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(256, 256)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.01))
kept = []
training.train(model, optimizer, kept if accelerator.process_index == 1 else None, accelerator.backward)
accelerator.end_training()
