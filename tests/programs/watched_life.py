"""A watched tensor in a program that forks and executes, makes threads, or kills itself."""

import os
import signal
import subprocess
import sys
import threading

import torch


def make():
    return torch.ones(1000)  # made


def touch(t):
    box = [t]
    return box.pop() is t


def forks(t):
    child = os.fork()
    if child == 0:
        os._exit(0 if all(touch(t) for _ in range(100)) else 1)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print("spawned", subprocess.run([sys.executable, "-c", "pass"], check=False).returncode, flush=True)
    os.execv(sys.executable, [sys.executable, "-c", "print('executed')"])


def threads(t):
    each = [threading.Thread(target=lambda: [touch(t) for _ in range(50)]) for _ in range(8)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()
    print("sum", (t * 2).sum().item())


def masks(t):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    touch(t)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTRAP])
    print("masked")


def dies(t):
    touch(t)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    {each.__name__: each for each in (forks, threads, masks, dies)}[sys.argv[1]](make())
