"""Memory figures in the log of transformers' Trainer.

    from dc_memtrace.transformers_callback import MemoryCallback

    trainer = Trainer(...)
    MemoryCallback().add_to(trainer)
    trainer.train()
"""

from __future__ import annotations

from typing import Any

import transformers

from dc_memtrace._memory_log import MemoryLog


class MemoryCallback(transformers.TrainerCallback):
    """Adds the figures of `dc_memtrace.peak()`, and the growth per step, to each line of the log."""

    def __init__(self) -> None:
        self._log = MemoryLog()

    def add_to(self, trainer: transformers.Trainer) -> None:
        """Inserts this callback before those that report to W&B, TensorBoard and the like, so that they get the figures, too."""
        trainer.callback_handler.callbacks.insert(0, self)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **more: Any) -> None:
        figures = self._log.figures(state.global_step)
        if logs is not None:
            logs.update(figures)
        if state.log_history:  # contains a copy of the line from before the callbacks
            state.log_history[-1].update(figures)
