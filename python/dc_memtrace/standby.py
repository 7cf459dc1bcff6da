"""Importing this module puts the process in standby: `dc-memtrace attach PID` can record it from then on.

    import dc_memtrace.standby

The same as starting the program by `dc-memtrace run --standby`, for programs that cannot be started so. Nothing is
recorded, and one thread sleeps, until somebody attaches. Where dc-memtrace is not installed beside this Python or on
PATH, a warning says so, and nothing else happens. A forked child is not in standby; a spawned one that imports this
module is.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import sys
import warnings


def _agent() -> pathlib.Path | None:
    """The library of the dc-memtrace that is installed with this Python, else of the one on PATH."""
    program = shutil.which("dc-memtrace")
    folders = [pathlib.Path(sys.prefix), *([pathlib.Path(program).resolve().parents[1]] if program else [])]
    for folder in folders:
        library = folder / "lib" / "dcmt" / "libdcmt_agent.so"
        if library.exists():
            return library
    return None


def _begin() -> None:
    if "DC_MEMTRACE_SPOOL" in os.environ:  # recorded by `dc-memtrace run`
        return
    library = _agent()
    if library is None:
        warnings.warn("dc_memtrace.standby: dc-memtrace is neither installed with this Python nor on PATH", stacklevel=3)
        return
    try:
        # Global: marks, and what the agent loads, find it by its symbols.
        agent = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        agent.dcmt_standby.restype = None
        agent.dcmt_standby()
    except (OSError, AttributeError) as error:
        warnings.warn(f"dc_memtrace.standby: {library} does not load here: {error}", stacklevel=3)


_begin()
