"""A terminal that remembers what it shows: as much of one as dc-memtrace and a plain program use."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import recorded

SEQUENCE = re.compile(r"\x1b(?:([78DM])|\[([?0-9;]*)([A-Za-z]))|([\r\n\b\a])|([^\x1b\r\n\b\a]+)")


class Screen:
    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.lines = [""] * rows
        self.scrolled: list[str] = []  # out of a region that begins with the first row, as terminals keep it
        self.row = self.column = 0
        self.saved = (0, 0)
        self.top, self.bottom = 0, rows - 1
        self.rest = ""

    def feed(self, text: str) -> None:
        text = self.rest + text
        end = max(0, text.rfind("\x1b"))
        whole = text if not (end or text.startswith("\x1b")) or re.match(r"\x1b(?:[78DM]|\[[?0-9;]*[A-Za-z])", text[end:]) else text[:end]
        self.rest = text[len(whole) :]
        for found in SEQUENCE.finditer(whole):
            self.apply(*found.groups())

    def apply(self, escape, numbers, command, control, plain) -> None:
        first, *more = [int(n or 0) for n in (numbers or "").strip("?").split(";")]
        if escape == "7":
            self.saved = (self.row, self.column)
        elif escape == "8":
            self.row, self.column = self.saved
        elif escape == "D" or control == "\n":
            self.down()
        elif command == "A":
            self.row = max(self.top if self.row >= self.top else 0, self.row - max(first, 1))
        elif command == "H":
            self.row, self.column = min(max(first, 1), self.rows) - 1, max(more[0] if more else 1, 1) - 1
        elif command == "J":
            self.lines[self.row] = self.lines[self.row][: self.column]
            self.lines[self.row + 1 :] = [""] * (self.rows - self.row - 1)
        elif command == "K":
            self.lines[self.row] = "" if first == 2 else self.lines[self.row][: self.column]
        elif command == "r":
            self.top, self.bottom = max(first, 1) - 1, (more[0] if more else self.rows) - 1
            self.row = self.column = 0
        elif control == "\r":
            self.column = 0
        elif plain:
            for character in plain:
                self.put(character)
        else:
            assert control or command == "m", (escape, numbers, command)

    def put(self, character: str) -> None:
        if self.column == self.columns:
            self.column = 0
            self.down()
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
        self.column += 1

    def down(self) -> None:
        if self.row != self.bottom:
            self.row = min(self.row + 1, self.rows - 1)
            return
        gone = self.lines.pop(self.top)
        self.lines.insert(self.bottom, "")
        if self.top == 0:
            self.scrolled.append(gone)

    def resize(self, rows: int, columns: int) -> None:
        """As tmux does: the cursor stays in its line, rows below it go first, and new ones come back from above."""
        while len(self.lines) > rows and self.row < len(self.lines) - 1:
            self.lines.pop()
        while len(self.lines) > rows:
            self.scrolled.append(self.lines.pop(0))
            self.row -= 1
        while len(self.lines) < rows and self.scrolled:
            self.lines.insert(0, self.scrolled.pop())
            self.row += 1
        self.lines += [""] * (rows - len(self.lines))
        self.rows, self.columns = rows, columns
        self.top, self.bottom = 0, rows - 1

    def text(self) -> list[str]:
        """What was written above the last rows, and is on the screen or was scrolled out of it."""
        return [line.rstrip() for line in self.scrolled + self.lines]


class Session:
    """A command on a terminal of its own."""

    def __init__(self, *command: object, rows: int = 24, columns: int = 80, cwd=".", **environment: str) -> None:
        self.screen = Screen(rows, columns)
        self.raw = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(cwd)
            os.execve(command[0], list(map(str, command)), recorded.environment(**{"TERM": "xterm", **environment}))
        self.decoder = __import__("codecs").getincrementaldecoder("utf-8")()
        self.status: int | None = None

    def read(self, seconds: float) -> bool:
        """False if the terminal is closed: the program is over."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            text = self.decoder.decode(os.read(self.terminal, 1 << 16))
        except OSError:
            return False
        self.raw += text
        self.screen.feed(text)
        return True

    def until(self, is_shown, seconds: float = 120) -> list[str]:
        """Reads until the lines of the screen are so; returns them."""
        end = time.monotonic() + seconds
        while not is_shown(self.screen.lines):
            assert time.monotonic() < end and self.read(1), "\n".join(self.screen.lines)
        return list(self.screen.lines)

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.terminal, keys)

    def end(self) -> int:
        """Reads to the end of the command. Returns its exit code."""
        while self.read(120):
            pass
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.terminal)
        return self.status
