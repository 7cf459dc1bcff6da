"""What goes wrong between this process and dc-memtrace."""

from __future__ import annotations


class MemtraceError(RuntimeError):
    """dc-memtrace could not do what it was asked for. The message is one line that says why, and what to do."""


def line_of(error: bytes | str) -> str:
    """What the program said on standard error, without its name."""
    text = error.decode("utf-8", "replace") if isinstance(error, bytes) else error
    lines = [each for each in text.strip().splitlines() if each]
    return lines[-1].removeprefix("dc-memtrace: ") if lines else "dc-memtrace ended without a word"
