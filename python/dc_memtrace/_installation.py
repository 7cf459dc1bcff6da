"""Finds the dc-memtrace for this process: the one installed with this Python, else the one on PATH."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import sys


def _folders() -> list[pathlib.Path]:
    program = shutil.which("dc-memtrace")
    return [pathlib.Path(sys.prefix), *([pathlib.Path(program).resolve().parents[1]] if program else [])]


def _folder() -> pathlib.Path | None:
    return next((each for each in _folders() if (each / "lib" / "dcmt" / "libdcmt_agent.so").exists()), None)


NOT_FOUND = "dc-memtrace is neither installed with this Python nor on PATH"


def program() -> pathlib.Path | None:
    """The program of the same installation as the agent."""
    folder = _folder()
    return folder / "bin" / "dc-memtrace" if folder is not None else None


def begin_standby() -> str:
    """Puts this process in standby. Returns the error, or an empty text. A second call does nothing."""
    if "DC_MEMTRACE_SPOOL" in os.environ:  # recorded by `dc-memtrace run`
        return ""
    try:
        agent = ctypes.CDLL(None)
        if not hasattr(agent, "dcmt_standby"):  # else it is loaded already, by LD_PRELOAD or an earlier call
            folder = _folder()
            if folder is None:
                return NOT_FOUND
            # Global, so that marks and libraries of the agent find its symbols.
            agent = ctypes.CDLL(str(folder / "lib" / "dcmt" / "libdcmt_agent.so"), mode=ctypes.RTLD_GLOBAL)
        agent.dcmt_standby.restype = None
        agent.dcmt_standby()
    except (OSError, AttributeError) as error:
        return f"the agent does not load here: {error}"
    return ""
