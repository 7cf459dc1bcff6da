"""`%%memtrace`: the effect of a notebook's cell on memory.

    %load_ext dc_memtrace

    %%memtrace
    train_one_epoch()
"""

from __future__ import annotations

import importlib
import pathlib
import re
import tempfile
from typing import Any

from dc_memtrace._errors import MemtraceError
from dc_memtrace._ledger import MemoryLedger, PhaseMemory
from dc_memtrace._quantities import rounded_bytes

_MOST_ROWS = 8
_CELL = re.compile(r"<ipython-input-(\d+)-\w+>")
# Holders that the notebook itself creates, and how to make it release them.
_OWN = (
    (re.compile(r"main\.(_+|_\d+|Out)(?!\w)"), "the notebook keeps a cell's result: end its last line with ;"),
    (re.compile(r"sys\.last_|main\.(sys\.)?last_|tb_frame"), "a traceback keeps the variables of a call that failed"),
)


def register(shell: Any) -> None:
    """Called by `%load_ext dc_memtrace`."""
    shell.register_magic_function(lambda line, cell: memtrace(shell, cell), "cell", "memtrace")


def memtrace(shell: Any, cell: str) -> None:
    """Runs the cell, and prints its peak, the memory that it left, and the holders of that memory."""
    importlib.import_module("torch")  # the cell may be the first that uses it, and a recording needs it
    with tempfile.TemporaryDirectory() as folder:
        ledger = MemoryLedger(pathlib.Path(folder) / "trace")
        ran = False
        try:
            with ledger.phase("cell"):
                ran = True
                shell.run_cell(cell)
            figures = ledger["cell"]
        except MemtraceError as error:
            if not ran:
                shell.run_cell(cell)  # the cell runs exactly once, even after an error
            print(f"memtrace: {error}")
            return
    print(text_of(figures))


def text_of(figures: PhaseMemory) -> str:
    """Three figures, then a line for each holder of the memory left, most bytes first."""
    lines = [
        f"peak {rounded_bytes(figures.peak)} above what was there · made {rounded_bytes(figures.allocated)} · "
        f"freed {rounded_bytes(figures.freed)} · left {rounded_bytes(figures.net)}"
    ]
    held: dict[tuple[str, str], int] = {}
    for each in figures.survivors:
        holder = re.sub(r"(?<!Out)\[\d+\]", "[*]", each.holder or "no holder found")  # elements of one list together
        key = holder, _CELL.sub(r"In[\1]", each.site).removesuffix(" <module>")
        held[key] = held.get(key, 0) + each.bytes
    rows = sorted(held.items(), key=lambda row: -row[1])
    for (holder, site), size in rows[:_MOST_ROWS]:
        lines.append(f"  {rounded_bytes(size):>10}  {holder}   made at {site}")
        lines += [f"{'':12}  {why}" for pattern, why in _OWN if pattern.search(holder)]
    if len(rows) > _MOST_ROWS:
        lines.append(f"  {rounded_bytes(sum(size for _, size in rows[_MOST_ROWS:])):>10}  of {len(rows) - _MOST_ROWS} more")
    return "\n".join(lines)
