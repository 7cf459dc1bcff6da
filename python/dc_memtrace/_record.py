"""Records a block of the process's own program."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import time
import warnings
from collections.abc import Iterable
from types import TracebackType

from dc_memtrace import _installation, _table
from dc_memtrace._errors import MemtraceError, line_of

_PAUSE_S = 0.002
_DETAILS = ("lifetimes", "full", "operators")


class record:
    """Records all threads during a block, to a trace like that of `dc-memtrace run`.

        with dc_memtrace.record("out") as recording:
            train_one_epoch()
        print(recording.trace, recording.peak_bytes["cpu"])

    A recorder process runs for the duration of the block; between two blocks nothing is hooked. A block costs about an
    additional second. About half of it is for reading the memory from before the block. There can be many blocks, in any
    thread, but only one at a time.

    path: the folder for the trace. It is created if needed. A folder that contains a recorded run is refused, unless
        `replace` is true.
    detail: "lifetimes" (storages from 64 KiB on, and all released ones), "full" (all storages, tensors and blocks) or
        "operators" (also every operator by name).
    owners: reads the memory of this process from outside to find the storages from before the block, and the owners of
        all storages. Without it, bytes are counted from 0 on, and the block starts and ends faster.
    max_disk: the maximum size of the trace on disk in bytes; 5 GiB by default.
    operators: tables of gather and release operators (docs/operators.md).
    kernels: records kernels and copies that use released storages on a GPU, through CUPTI. CUPTI serves one user at a time, and
        stays initialized in this process after the block.

    Raises ValueError for another detail, MemtraceError where a block cannot be recorded: dc-memtrace is not found, torch is not
    imported yet, this process is recorded already, or is a forked child, or the folder cannot be used. Also raises
    MemtraceError at the end of the block if the trace could not be finished; if the block itself raises, there is a warning
    instead.
    """

    __slots__ = ("_command", "_recorder", "folder", "trace")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        detail: str = "lifetimes",
        owners: bool = True,
        max_disk: int | None = None,
        operators: Iterable[str | os.PathLike[str]] = (),
        kernels: bool = False,
        replace: bool = False,
    ) -> None:
        if detail not in _DETAILS:
            raise ValueError(f"detail is one of {', '.join(_DETAILS)}, not {detail!r}")
        self.folder = pathlib.Path(path)
        """Where the trace lies."""
        self.trace: pathlib.Path | None = None
        """The trace, once the block has ended."""
        self._recorder: subprocess.Popen[bytes] | None = None
        self._command = ["--quiet", "-o", str(self.folder), "--detail", detail]
        self._command += [] if owners else ["--no-owners"]
        self._command += [] if max_disk is None else ["--max-disk", str(int(max_disk))]
        self._command += [word for each in operators for word in ("--operators", os.fspath(each))]
        self._command += ["--kernels"] if kernels else []
        self._command += ["--force"] if replace else []

    def __enter__(self) -> record:
        if self._recorder is not None or self.trace is not None:
            raise MemtraceError("a recording serves one block; make another one")
        if why := _installation.begin_standby():
            raise MemtraceError(why)
        table = _table.find_now()
        if table is not None and table.recording():
            raise MemtraceError("this process is recorded already")
        program = _installation.program()
        if program is None:
            raise MemtraceError(_installation.NOT_FOUND)
        if "--force" not in self._command and (self.folder / "run.json").exists():
            raise MemtraceError(f"{self.folder} holds a run already; choose another folder, or replace=True")
        # In a session of its own: Ctrl-C is meant for the program, whose block then ends.
        self._recorder = subprocess.Popen(
            [program, "attach", str(os.getpid()), *self._command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            while self._recorder.poll() is None:
                if table is not None and table.recording():
                    return self
                time.sleep(_PAUSE_S)
        except BaseException:
            self._end()
            raise
        raise MemtraceError(self._end() or "the recorder ended before it began")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        why = self._end()
        if why and error is None:
            raise MemtraceError(why)
        if why:
            warnings.warn(f"dc_memtrace.record: {why}", stacklevel=2)

    def _end(self) -> str:
        """Ends the recorder and waits until the trace is finished. Returns the error, or an empty text."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return "the recording has ended before"
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGTERM)
        _, said = recorder.communicate()
        if recorder.returncode != 0:
            return line_of(said)
        try:
            (name,) = json.loads((self.folder / "run.json").read_text())["traces"].values()
        except (OSError, ValueError, KeyError) as wrong:
            return f"{self.folder} has no trace of this block: {wrong}"
        self.trace = self.folder / name
        return ""

    @property
    def peak_bytes(self) -> dict[str, int]:
        """The peak of the bytes in torch's blocks during the block, by device: {"cpu": 1048576}.

        Includes memory from before the block if it was recorded with owners. Raises MemtraceError before the end of the block.
        """
        if self.trace is None:
            raise MemtraceError("the block has not ended yet")
        import sqlite3

        with sqlite3.connect(f"{self.trace.resolve().as_uri()}?mode=ro", uri=True) as trace:
            return dict(trace.execute("SELECT device, max(highest) FROM pyramid GROUP BY device"))
