"""Importing this module puts the process in standby: `dc-memtrace attach PID` can record it from then on.

    import dc_memtrace.standby

This has the effect of `dc-memtrace run --standby`, for programs that cannot be started that way. Nothing is recorded,
and one thread sleeps, until a recorder attaches. If dc-memtrace is neither installed with this Python nor on PATH,
there is a warning, and nothing else happens. A forked child is not in standby; a spawned one that imports this
module is.
"""

from __future__ import annotations

import warnings

from dc_memtrace import _installation

if _why_not := _installation.begin_standby():
    warnings.warn(f"dc_memtrace.standby: {_why_not}", stacklevel=2)
