"""Counts signals: says `ready`, waits until each of the given ones has come, and a while for those that come twice.

usage: count.py SIGNAL...
"""

from __future__ import annotations

import collections
import signal
import sys
import time

names = sys.argv[1:]
got: collections.Counter[str] = collections.Counter()
for name in names:
    signal.signal(getattr(signal, "SIG" + name), lambda number, _: got.update([signal.Signals(number).name[3:]]))
print("ready", flush=True)
end = time.monotonic() + 20
while len(got) < len(names) and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
print(*(f"{name}:{got[name]}" for name in sorted(names)))
