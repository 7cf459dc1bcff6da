"""Two actors of Ray."""

import ray
import torch
import training


@ray.remote
class Worker:
    def __init__(self, keeps: bool):
        self.kept = [] if keeps else None

    def work(self) -> int:
        model = torch.nn.Linear(256, 256)
        training.train(model, torch.optim.SGD(model.parameters(), 0.01), self.kept)
        return len(self.kept or [])


ray.init("local", num_cpus=2, include_dashboard=False, logging_level="ERROR")
workers = [Worker.remote(False), Worker.remote(True)]
print("kept", ray.get([worker.work.remote() for worker in workers]))
