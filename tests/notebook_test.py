"""`%%memtrace` in a notebook: the cell runs, and its peak and holders stand below it."""

from __future__ import annotations

import recorded  # first: it makes dc_memtrace importable
from attached import by_import
from dc_memtrace._ledger import PhaseMemory, Survivor
from dc_memtrace._notebook import text_of

# A shell as far as the magic needs one: cells run in __main__, and the last one's result is `_`.
SHELL = """
import sys
import dc_memtrace

class Shell:
    def register_magic_function(self, function, kind, name):
        assert (kind, name) == ("cell", "memtrace")
        self.memtrace = function
    def run_cell(self, cell):
        exec(compile(cell, "<cell>", "exec"), sys.modules["__main__"].__dict__)

shell = Shell()
dc_memtrace.load_ipython_extension(shell)
shell.memtrace("", "import torch\\nkept = [torch.ones(1 << 20) for _ in range(3)]\\nx = torch.ones(1 << 21)\\ndel x")
print("ran", len(kept))
shell.memtrace("", "_ = torch.ones(1 << 20)")
try:
    with dc_memtrace.record(sys.argv[1]):
        shell.memtrace("", "ran_once = globals().get('ran_once', 0) + 1")
finally:
    print("once", ran_once)
"""


def test_a_cell_has_its_peak_and_its_holders(tmp_path):
    script = tmp_path / "notebook.py"
    script.write_text(SHELL)
    result = recorded.python(script, tmp_path / "out", env=recorded.environment(PATH=by_import()["PATH"]))
    assert result.returncode == 0, result.stdout + result.stderr
    first, second, third = result.stdout.split("ran 3\n")[0], *result.stdout.split("ran 3\n")[1].split("memtrace: ")
    assert first.startswith("peak 20.0 MiB above what was there · made 20.0 MiB · freed 8.0 MiB · left 12.0 MiB")
    assert "12.0 MiB  main.kept[*]   made at <cell>:2" in first, first
    assert "4.0 MiB  main._   made at" in second, second
    assert "end its last line with ;" in second
    assert third.startswith("this process is recorded already")
    assert third.endswith("once 1\n"), "the cell runs where nothing can be recorded"


def test_cells_are_called_as_the_notebook_calls_them():
    survivors = (Survivor(4096, "cpu", "<ipython-input-2-ff2ac72d234b>:3 <module>", "main.Out[2]"),)
    lines = text_of(PhaseMemory(4096, 0, 4096, survivors)).splitlines()
    assert lines[1] == "     4.0 KiB  main.Out[2]   made at In[2]:3"
    assert "the notebook keeps" in lines[2]


def test_many_holders_are_summed_up():
    survivors = tuple(Survivor(1 << (30 - at), "cpu", "cell:1", f"main.x{at}") for at in range(12))
    lines = text_of(PhaseMemory(1 << 31, 0, 1 << 31, survivors)).splitlines()
    assert lines[0].startswith("peak 2.0 GiB")
    assert len(lines) == 10
    assert lines[-1].endswith("of 4 more")
