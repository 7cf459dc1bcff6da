"""Training processes that take turns, so that all of them see the same machine."""

from __future__ import annotations

import json
import statistics
import subprocess


class Training:
    """A program that reads a number of steps, and maybe how, makes them, prints a JSON object, reads again."""

    def __init__(self, command: list[object], **options) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.loss = ""

    def turn(self, steps: int, how: str = "") -> float:
        """Median seconds of a step."""
        self.process.stdin.write(f"{steps} {how}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a training ended with exit {self.process.wait()}")
        answer = json.loads(line)
        self.loss = answer["loss"]
        return statistics.median(answer["seconds"])

    def end(self) -> None:
        self.process.stdin.close()
        if self.process.wait(timeout=120) != 0:
            raise SystemExit(f"a training ended with exit {self.process.returncode}")
