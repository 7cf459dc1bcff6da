"""Two ranks of deepspeed's launcher, with an engine of DeepSpeed."""

import deepspeed
import torch
import training

deepspeed.init_distributed("gloo")
model = torch.nn.Linear(256, 256)
engine, *_ = deepspeed.initialize(
    model=model,
    model_parameters=model.parameters(),
    config={"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "SGD", "params": {"lr": 0.01}}},
)
kept = []
training.train(engine, engine, kept if torch.distributed.get_rank() == 1 else None, engine.backward)
torch.distributed.destroy_process_group()
