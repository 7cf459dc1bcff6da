"""Callbacks that write memory figures to the log of a training."""

from __future__ import annotations

import json
import sys
import types

import pytest

from recorded import python

TRAINER = """
import json, sys, torch, transformers
from dc_memtrace.transformers_callback import MemoryCallback

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(64, 64)
        self.kept = []
    def forward(self, x, labels=None):
        self.kept.append(torch.ones(1 << 18))  # 1 MiB a step
        return {"loss": (self.net(x) - x).pow(2).mean()}

class Reporter(transformers.TrainerCallback):
    lines = []
    def on_log(self, args, state, control, logs=None, **more):
        self.lines.append(dict(logs))

data = [{"x": torch.ones(64), "labels": torch.ones(1)} for _ in range(48)]
arguments = transformers.TrainingArguments(
    sys.argv[1], max_steps=12, per_device_train_batch_size=4, logging_steps=4, report_to=[], save_strategy="no",
    use_cpu=True, disable_tqdm=True)
trainer = transformers.Trainer(Net(), arguments, train_dataset=data, callbacks=[Reporter()])
MemoryCallback().add_to(trainer)
trainer.train()
with open(sys.argv[2], "w") as file:
    json.dump({"history": trainer.state.log_history, "reported": Reporter.lines}, file)
"""


def test_the_trainer_logs_peak_and_growth(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINER)
    result = python(script, tmp_path / "out", tmp_path / "lines.json")
    assert result.returncode == 0, result.stderr
    lines = json.loads((tmp_path / "lines.json").read_text())
    history = [line for line in lines["history"] if "loss" in line]
    assert [line["step"] for line in history] == [4, 8, 12]
    assert all(line["memory/process/peak_resident_bytes"] > 1 << 20 for line in history)
    assert "memory/process/resident_bytes_a_step" not in history[0]
    assert history[-1]["memory/process/resident_bytes_a_step"] > 0
    reported = [line for line in lines["reported"] if "loss" in line]
    assert [line["memory/process/resident_bytes"] for line in reported] == [
        line["memory/process/resident_bytes"] for line in history
    ]


def test_a_lightning_trainer_logs_as_often_as_it_logs(monkeypatch):
    """Uses fakes for the two names of Lightning that the callback needs; the tests do not install the package."""
    for name in ("lightning", "lightning.pytorch"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["lightning.pytorch"].Callback = object
    monkeypatch.delitem(sys.modules, "dc_memtrace.lightning_callback", raising=False)
    from dc_memtrace.lightning_callback import MemoryCallback

    lines = []
    logger = types.SimpleNamespace(log_metrics=lambda figures, step: lines.append((step, figures)))
    trainer = types.SimpleNamespace(global_step=0, log_every_n_steps=5, loggers=[logger])
    callback = MemoryCallback()
    for step in range(1, 11):
        trainer.global_step = step
        callback.on_train_batch_end(trainer, None, None, None, step - 1)
    assert [step for step, _ in lines] == [5, 10]
    assert "memory/process/resident_bytes_a_step" not in lines[0][1]
    assert "memory/process/resident_bytes_a_step" in lines[1][1]


def test_growth_is_what_each_step_added(monkeypatch):
    from dc_memtrace import _memory_log

    values = iter([{"cpu/allocated_bytes": 100, "cpu/peak_allocated_bytes": 900},
                   {"cpu/allocated_bytes": 160, "cpu/peak_allocated_bytes": 950, "cuda:0/allocated_bytes": 7}])
    monkeypatch.setattr(_memory_log, "peak", lambda: next(values))
    log = _memory_log.MemoryLog()
    assert log.figures(10) == {"memory/cpu/allocated_bytes": 100, "memory/cpu/peak_allocated_bytes": 900}
    assert log.figures(13)["memory/cpu/allocated_bytes_a_step"] == pytest.approx(20)
