"""The agent's table of marks (collector/include/dcmt/marks.h), found in this process if it is recorded."""

from __future__ import annotations

import ctypes
import time

_VERSION = 1
_SEARCH_AGAIN_S = 1.0  # the agent can be loaded later, by dc-memtrace attach

# PYFUNCTYPE: the calls keep the GIL, so objects whose addresses are passed cannot end during the call.
_INT = ctypes.c_int
_I32 = ctypes.c_int32
_I64 = ctypes.c_int64
_U64 = ctypes.c_uint64
_PTR = ctypes.c_void_p
_STR = ctypes.c_char_p


class CpuMemory(ctypes.Structure):
    """`dcmt_cpu_memory`."""

    _fields_ = [("allocated", _U64), ("peak", _U64), ("highest", _U64), ("complete", _U64)]


class Table(ctypes.Structure):
    """`dcmt_marks`, version 1."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("recording", ctypes.PYFUNCTYPE(_INT)),
        ("mark", ctypes.PYFUNCTYPE(None, _STR)),
        ("phase_begin", ctypes.PYFUNCTYPE(_U64, _STR)),
        ("phase_end", ctypes.PYFUNCTYPE(None, _U64)),
        ("step", ctypes.PYFUNCTYPE(None, _I64)),
        ("gather", ctypes.PYFUNCTYPE(None, _I64, _I64, _PTR, _PTR)),
        ("wait", ctypes.PYFUNCTYPE(None, _I64, _I64, _PTR, _PTR)),
        ("persist", ctypes.PYFUNCTYPE(None, _I64, _I64)),
        ("release_begin", ctypes.PYFUNCTYPE(None, _I64, _I64, _I32)),
        ("release_end", ctypes.PYFUNCTYPE(None, _I64, _I64)),
        ("census", ctypes.PYFUNCTYPE(None, _PTR, _PTR)),
        ("find_holders", ctypes.PYFUNCTYPE(_INT, _U64)),
        ("cpu_memory", ctypes.PYFUNCTYPE(_INT, ctypes.POINTER(CpuMemory), _U64, _INT)),
    ]


def _find() -> Table | None:
    try:
        get = ctypes.PyDLL(None).dcmt_get_marks
    except (AttributeError, OSError):
        return None
    get.argtypes = [ctypes.c_uint32]
    get.restype = ctypes.POINTER(Table)
    found = get(_VERSION)
    if not found or found.contents.size < ctypes.sizeof(Table):
        return None
    return found.contents


_found: Table | None = None
_next_search = 0.0


def table() -> Table | None:
    """The table, or None in a process without the agent. A table that was found stays valid: the agent is never unloaded."""
    global _found, _next_search
    if _found is None:
        now = time.monotonic()
        if now >= _next_search:
            _next_search = now + _SEARCH_AGAIN_S
            _found = _find()
    return _found


def find_now() -> Table | None:
    """Like table(), for callers that have just loaded the agent."""
    global _next_search
    _next_search = 0.0
    return table()
