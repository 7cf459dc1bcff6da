"""A training program to attach to: attached_training.py FOLDER STEPS HOLDS...

Before each step of HOLDS it waits until FOLDER/go-N exists, and has made FOLDER/at-N by then. It keeps an activation of
each step in a list (`Trainer.kept`). Before it ends it waits for FOLDER/end, and prints losses and a digest of the
parameters. With STEPS 0 it trains until there is FOLDER/end, ten steps a second at most, and has made FOLDER/trains after
the first. If there is FOLDER/count, FOLDER/counted gets what the program itself finds alive then: storages, as address and bytes.
ATTACHED_KEEPS=0: it keeps nothing. ATTACHED_IMPORTS: it puts itself in standby. ATTACHED_LOADS: an extension that it loads
after step 4.
"""

import gc
import hashlib
import json
import os
import pathlib
import sys
import time

import torch

if "ATTACHED_IMPORTS" in os.environ:
    import dc_memtrace.standby  # noqa: F401

folder = pathlib.Path(sys.argv[1])
steps = int(sys.argv[2])
KEEPS = os.environ.get("ATTACHED_KEEPS", "1") == "1"
holds = {int(each) for each in sys.argv[3:]}


def wait_for(name: str) -> None:
    while not (folder / name).exists():
        time.sleep(0.002)


def storages() -> dict[int, int]:
    found = {}
    for each in gc.get_objects():
        if isinstance(each, torch.Tensor):
            found[each.untyped_storage().data_ptr()] = each.untyped_storage().nbytes()
            if each.grad is not None:
                found[each.grad.untyped_storage().data_ptr()] = each.grad.untyped_storage().nbytes()
    return found


class Trainer:
    def __init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(128, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 8)
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.kept = []
        self.losses = []

    def step(self) -> None:
        self.optimizer.zero_grad()
        inputs = torch.randn(256, 128)
        hidden = self.model[:4](inputs)
        loss = self.model[4](hidden).square().mean()
        loss.backward()
        self.optimizer.step()
        if KEEPS:
            self.kept.append(hidden.detach())
        self.losses.append(loss.item())


def numbers():
    yield from range(steps)
    number = 0
    while steps == 0 and not (folder / "end").exists():
        yield number
        number += 1
        time.sleep(0.1)


def main() -> None:
    trainer = Trainer()
    for number in numbers():
        if number in holds:
            (folder / f"at-{number}").touch()
            wait_for(f"go-{number}")
        trainer.step()
        if steps == 0 and number == 0:
            (folder / "trains").touch()
        if "ATTACHED_LOADS" in os.environ and number == 4:
            torch.ops.load_library(os.environ["ATTACHED_LOADS"])
            for _ in range(10):
                torch.ops.late.make(777216)
    gc.collect()
    if (folder / "count").exists():
        (folder / "counted").write_text(json.dumps(sorted(storages().items())))
    (folder / "at-end").touch()
    wait_for("end")
    digest = hashlib.sha256()
    for parameter in trainer.model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    print(json.dumps({"losses": trainer.losses, "parameters": digest.hexdigest()}))


main()
