"""Two workers of Ray Train."""

import sys

import dc_memtrace
import ray.train
import ray.train.torch
import torch
import training


def loop() -> None:
    model = ray.train.torch.prepare_model(torch.nn.Linear(256, 256))
    kept = []
    keeps = ray.train.get_context().get_world_rank() == 1
    training.train(model, torch.optim.SGD(model.parameters(), 0.01), kept if keeps else None)
    dc_memtrace.find_holders()  # the list ends with this function, long before the process does


ray.init("local", num_cpus=3, include_dashboard=False, logging_level="ERROR")
ray.train.torch.TorchTrainer(
    loop,
    scaling_config=ray.train.ScalingConfig(num_workers=2, use_gpu=False),
    run_config=ray.train.RunConfig(storage_path=sys.argv[1]),
).fit()
