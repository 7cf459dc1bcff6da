"""Bytes in words, as the reports of dc-memtrace print them."""

from __future__ import annotations


def rounded_bytes(count: float) -> str:
    """ "12.0 MiB"; exact below 1 KiB. 1023.96 KiB is "1.0 MiB", as in trace/base/quantities.h."""
    if abs(count) < 1024:
        return f"{count:,.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if abs(count) < 1023.95:
            break
    return f"{count:.1f} {unit}"
