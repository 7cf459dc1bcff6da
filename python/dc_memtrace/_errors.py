"""Errors between this process and dc-memtrace."""

from __future__ import annotations


class MemtraceError(RuntimeError):
    """dc-memtrace could not do what was requested. The message is one line with the reason and a remedy."""


def line_of(error: bytes | str) -> str:
    """The program's message on standard error, without the program's name."""
    text = error.decode("utf-8", "replace") if isinstance(error, bytes) else error
    lines = [each for each in text.strip().splitlines() if each]
    return lines[-1].removeprefix("dc-memtrace: ") if lines else "dc-memtrace ended without a word"
