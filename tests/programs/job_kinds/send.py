"""Starts a command in a session of its own, sends it signals once it says `ready`, prints how it ended.

usage: send.py one|group|each|hangup SIGNAL... -- COMMAND...

`one` sends to the process that was started, `group` to its process group, `each` to each process of its session by
itself (as batch systems do); `hangup` closes the command's terminal.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys


def session_of(leader: int) -> list[int]:
    members = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == leader:
                members.append(int(name))
        except OSError:
            pass
    return members


def send(to: str, leader: int, number: int) -> None:
    if to == "group":
        os.killpg(leader, number)
    else:
        for pid in session_of(leader) if to == "each" else [leader]:
            os.kill(pid, number)


def ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"ended {128 - code if code < 0 else code}"


def hang_up(command: list[str]) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1000)
    os.close(terminal)
    print(ended(os.waitpid(pid, 0)[1]))


def main() -> None:
    words = sys.argv[1:]
    split = words.index("--")
    to, *signals = words[:split]
    if to == "hangup":
        hang_up(words[split + 1 :])
        return
    child = subprocess.Popen(words[split + 1 :], stdout=subprocess.PIPE, text=True, start_new_session=True)
    while "ready" not in child.stdout.readline():
        pass
    for name in signals:
        send(to, child.pid, getattr(signal, "SIG" + name))
    sys.stdout.write(child.stdout.read())
    print(ended(os.waitpid(child.pid, 0)[1]))


main()
