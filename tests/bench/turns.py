"""Training processes that take turns, so that all of them see the same machine."""

from __future__ import annotations

import json
import statistics
import subprocess


class Training:
    """A program that reads a number of steps, and maybe how, makes them, prints a JSON object, reads again."""

    def __init__(self, command: list[object], **options) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.steps = 0
        self.losses: dict[int, str] = {}  #: keyed by the number of steps made until then

    def turn(self, steps: int, how: str = "") -> float:
        """Median seconds of a step."""
        return statistics.median(self.ask(steps, how)["seconds"])

    def ask(self, steps: int, how: str = "") -> dict:
        """The JSON object that the program prints of its turn."""
        self.process.stdin.write(f"{steps} {how}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a training ended with exit {self.process.wait()}")
        answer = json.loads(line)
        self.steps += steps
        self.losses[self.steps] = answer["loss"]
        return answer

    def agrees(self, other: Training) -> bool:
        """True if both printed a loss after the same number of steps at least once, and these losses are equal."""
        both = self.losses.keys() & other.losses.keys()
        return bool(both) and all(self.losses[steps] == other.losses[steps] for steps in both)

    def end(self) -> None:
        self.process.stdin.close()
        if self.process.wait(timeout=120) != 0:
            raise SystemExit(f"a training ended with exit {self.process.returncode}")
