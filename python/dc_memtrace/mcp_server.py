"""A server of the Model Context Protocol, by which an assistant reads recordings: `python -m dc_memtrace.mcp_server [FOLDER]`.

It needs the protocol's own package (`pip install mcp`), and the program dc-memtrace. It reads traces below FOLDER, by default
below the current folder, and changes nothing.
"""

from __future__ import annotations

import os
import pathlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from dc_memtrace import _installation
from dc_memtrace._errors import MemtraceError, line_of

_MOST_ROWS = 1000
_MOST_SECONDS = 10.0
_MOST_CHARACTERS = 100_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_GROUPINGS = ("site", "operator", "phase", "kind", "category", "owner", "origin", "holder", "module")


class Recordings:
    """The recordings below one folder. Each method raises MemtraceError with one line where it cannot do what it is asked for."""

    def __init__(self, folder: str | os.PathLike[str], program: str | os.PathLike[str] | None = None) -> None:
        self._folder = pathlib.Path(folder).resolve()
        self._program = program or _installation.program()
        if self._program is None:
            raise MemtraceError(_installation.NOT_FOUND)

    def traces(self) -> list[str]:
        """All traces, the newest first."""
        found = sorted(self._folder.rglob("*.dcmt"), key=lambda each: each.stat().st_mtime, reverse=True)
        return [str(each.relative_to(self._folder)) for each in found]

    def report(self, path: str) -> str:
        return self._run("report", self._inside(path))

    def holders(self, path: str, what: str) -> str:
        return self._run("show", "holders", self._inside(path), what)

    def peak(self, path: str, by: str = "category") -> str:
        if by.partition(":")[0] not in _GROUPINGS:
            raise MemtraceError(f"by is one of {', '.join(_GROUPINGS)}")
        return self._run("show", "peak", self._inside(path), "--by", by)

    def diff(self, before: str, after: str) -> str:
        return self._run("diff", self._inside(before), self._inside(after))

    def query(self, path: str, sql: str) -> dict[str, Any]:
        """The rows of one SELECT. Nothing is written, and no other file is opened."""
        trace = self._inside(path)
        if not trace.is_file():
            raise MemtraceError(f"{path} is no trace: name one of the files of traces()")
        until = time.monotonic() + _MOST_SECONDS
        try:
            connection = sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)
            try:
                connection.set_authorizer(
                    lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
                )
                connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
                found = connection.execute(sql)
                rows = found.fetchmany(_MOST_ROWS + 1)
                columns = [each[0] for each in found.description or ()]
            finally:
                connection.close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise MemtraceError(f"{path}: {error}") from None
        shown = [[each.hex() if isinstance(each, bytes) else each for each in row] for row in rows[:_MOST_ROWS]]
        return {"columns": columns, "rows": shown, "more": len(rows) > _MOST_ROWS}

    def _inside(self, path: str) -> pathlib.Path:
        """A path below the folder: neither `..` nor a link leads out of it."""
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder) or not found.exists():
            raise MemtraceError(f"{path}: there is no such recording below {self._folder}")
        return found

    def _run(self, *arguments: str | os.PathLike[str]) -> str:
        if any(isinstance(each, str) and each.startswith("-") and each != "--by" for each in arguments):
            raise MemtraceError("options are not taken")
        command = [self._program, *arguments]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            raise MemtraceError("it took more than 120 s") from None
        text = done.stdout.decode(errors="replace")
        if done.returncode > 1:  # 1: there are findings
            raise MemtraceError(line_of(done.stderr))
        return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "\n… cut here\n"


def server(recordings: Recordings) -> Any:
    """The server with its tools, of the installed version of the package mcp."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ModuleNotFoundError:  # before 2.0
        from mcp.server.fastmcp import FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ToolError
    tools = MCPServer("dc-memtrace")

    def answer(ask: Callable[..., Any], *arguments: str) -> Any:
        try:
            return ask(*arguments)
        except MemtraceError as error:
            raise ToolError(str(error)) from None

    @tools.tool()
    def list_traces() -> list[str]:
        """All recordings of memory (*.dcmt), the newest first. The other tools take these paths, or a folder of them."""
        return recordings.traces()

    @tools.tool()
    def report(path: str) -> str:
        """What stays in memory longer than needed: findings with their holders, lines and fixes, and the peak without them."""
        return answer(recordings.report, path)

    @tools.tool()
    def holders(path: str, what: str) -> str:
        """Which variables hold storages. what: a finding's number, a storage's id, or a line such as train.py:17."""
        return answer(recordings.holders, path, what)

    @tools.tool()
    def peak(path: str, by: str = "category") -> str:
        """What was alive at the peak. by: site, operator, phase, kind, category, owner, origin, holder or module; module:2 joins
        layers."""
        return answer(recordings.peak, path, by)

    @tools.tool()
    def diff(before: str, after: str) -> str:
        """What differs between two runs: peaks by phase and line, findings, lifetimes."""
        return answer(recordings.diff, before, after)

    @tools.tool()
    def query(path: str, sql: str) -> dict[str, Any]:
        """The rows of one SELECT on a trace, an SQLite database (at most 1,000). `SELECT name, sql FROM sqlite_master` has its
        tables and views."""
        return answer(recordings.query, path, sql)

    return tools


def main(arguments: list[str]) -> int:
    try:
        server(Recordings(arguments[0] if arguments else os.curdir)).run()
    except ModuleNotFoundError:
        print("dc-memtrace: the protocol's package is missing: pip install mcp", file=sys.stderr)
        return 2
    except MemtraceError as error:
        print(f"dc-memtrace: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
