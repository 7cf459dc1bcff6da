"""Memory figures in the log of a Lightning trainer.

    from dc_memtrace.lightning_callback import MemoryCallback

    trainer = Trainer(callbacks=[MemoryCallback()])
"""

from __future__ import annotations

from typing import Any

from dc_memtrace._memory_log import MemoryLog

try:
    from lightning.pytorch import Callback
except ImportError:  # the older package
    from pytorch_lightning import Callback


class MemoryCallback(Callback):
    """Logs the figures of `dc_memtrace.peak()`, and the growth per step, as often as the trainer logs."""

    def __init__(self) -> None:
        self._log = MemoryLog()

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int, *more: Any) -> None:
        """Writes directly to the trainer's loggers: `module.log` would make a tensor of each figure."""
        step = trainer.global_step
        if step % trainer.log_every_n_steps != 0:
            return
        figures = self._log.figures(step)
        for logger in trainer.loggers:
            logger.log_metrics(figures, step=step)
