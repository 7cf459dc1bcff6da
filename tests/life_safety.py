"""Running a program plainly and under the recorder, and comparing what anybody outside sees of it."""

from __future__ import annotations

import os
import pathlib
import signal
import struct
import subprocess

import proc
import recorded

FOLDER = recorded.BUILD / "tests" / "programs" / "life_safety"
LIFE = recorded.BUILD / "bin" / "life"
EXTENSIONS = [FOLDER / f"liblife_extension_{binding}.so" for binding in ("lazy", "now")]
TENSOR_BYTES = 100_000

# Scales everything, for scripts/soak.
SCALE = int(os.environ.get("DCMT_LIFE_SCALE", "1"))

# A longer run has hung. The limit is far above the time that any of these programs needs, even on a busy machine.
WATCHDOG = 90


def watched(*command: object, **options) -> subprocess.CompletedProcess:
    options.setdefault("env", recorded.environment())
    words = list(map(str, command))
    return subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG * SCALE, **options)


def shell_code(code: int) -> int:
    return 128 - code if code < 0 else code


def unharmed(folder: pathlib.Path, *command: object, run: tuple = (), **options) -> subprocess.CompletedProcess:
    """Runs a command twice, plainly and recorded into `folder`: output, errors and exit status must be the same. After a
    program that a signal has ended, the tool says so in one line."""
    plain = watched(*command, **options)
    seen = watched(recorded.TOOL, "run", "-o", folder, *run, "--", *command, **options)
    assert seen.returncode == shell_code(plain.returncode), (plain, seen)
    assert seen.stdout == plain.stdout, (plain, seen)
    errors = seen.stderr
    if plain.returncode < 0:
        errors, _, line = errors.rpartition("dc-memtrace: ")
        assert f"was ended by {signal.Signals(-plain.returncode).name}" in line and line.count("\n") == 1, seen
    assert errors == plain.stderr
    return seen


class Counts:
    """The standard input of `life keep_going`: used to request its number of tensors, and to end it."""

    ENOUGH = 20_000  #: fills a spool of 1 MiB many times

    def __init__(self, file: pathlib.Path):
        self.file = file
        file.write_bytes(bytes(16))

    def made(self) -> int:
        return struct.unpack("<2q", self.file.read_bytes())[0]

    def make_more(self, tensors: int = ENOUGH) -> None:
        """Waits until it has made this many more tensors."""
        enough = self.made() + tensors
        proc.until(lambda: self.made() >= enough)

    def end(self) -> None:
        with self.file.open("r+b") as file:
            file.seek(8)
            file.write(struct.pack("<q", 1))


class Going(Counts):
    """A recorded job that makes tensors until it is ended."""

    def __init__(self, folder: pathlib.Path, *options: object, before: tuple = (), inside: tuple = (), **more):
        """@param before  precedes the tool's command  @param inside  precedes the job's command"""
        super().__init__(folder.parent.with_name(folder.parent.name + "-counts"))
        words = [*before, recorded.TOOL, "run", "-o", folder, *options, "--", *inside, LIFE, "keep_going"]
        with self.file.open("r+b") as file:
            self.run = subprocess.Popen(
                list(map(str, words)), env=recorded.environment(), stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, **more,
            )  # fmt: skip
        self.job = int(self.run.stdout.readline())

    def __enter__(self) -> Going:
        return self

    def __exit__(self, *_) -> None:
        if not self.run.stdout.closed:
            self.ended()

    def ended(self) -> tuple[int, int, str]:
        """Ends it and waits. Returns the number of tensors, the longest wait in milliseconds, and standard error."""
        self.end()
        out, err = self.run.communicate(timeout=WATCHDOG)
        made, longest = map(int, out.split())
        return made, longest, err


def the_trace(folder: pathlib.Path) -> pathlib.Path:
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
    return trace


def blocks(trace: pathlib.Path, size: int = TENSOR_BYTES) -> int:
    return recorded.query(trace, "SELECT count(*) FROM block WHERE bytes = ?", size)[0][0]


def lost(trace: pathlib.Path) -> int:
    return recorded.query(trace, "SELECT coalesce(sum(count), 0) FROM loss")[0][0]


def notes(trace: pathlib.Path) -> str:
    rows = recorded.query(trace, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text")
    return "\n".join(text for (text,) in rows)
