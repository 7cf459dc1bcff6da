"""Holders that are named while eight threads change what holds their tensors: none is ever false.

Four readings, or as many as DCMT_SOAK_SECONDS of time have room for; run by scripts/soak.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time

import recorded

READINGS = 4
ELEMENT = 4  # bytes


@contextlib.contextmanager
def churning(tmp_path):
    ready = tmp_path / "sizes.json"
    command = [sys.executable, "-W", "ignore", recorded.PROGRAMS / "churning.py", ready]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 300
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, "the program never became ready"
            time.sleep(0.1)
        yield process, json.loads(ready.read_text())
    finally:
        process.stdin.close()
        assert process.wait() == 0, "the program came to harm"


def owners(sizes: list[list[int]]) -> dict[int, str]:
    """By the bytes of a storage, what a path to it may begin with."""
    moving = {
        size * ELEMENT: rf"main\.(BOXES|NAMED|OBJECTS)\[{k}\]|churn \(churning\.py:\d+\): made$"
        for k, size in enumerate(sizes[0])
    }
    return moving | {size * ELEMENT: rf"main\.KEPT\[{k}\]$" for k, size in enumerate(sizes[1])}


def test_no_holder_is_false(tmp_path):
    counts = {"readings": 0, "storages": 0, "holders": 0, "confirmed": 0, "kept": 0}
    false = []
    until = time.monotonic() + float(os.environ.get("DCMT_SOAK_SECONDS", "0"))
    with churning(tmp_path) as (process, sizes):
        allowed = owners(sizes)
        kept = {size * ELEMENT for size in sizes[1]}
        while counts["readings"] < READINGS or time.monotonic() < until:
            shown = recorded.tool("snapshot", process.pid, "--json")
            assert shown.returncode == 0, shown.stderr
            counts["readings"] += 1
            for storage in json.loads(shown.stdout)["storages"]:
                if storage["bytes"] not in allowed:
                    continue
                counts["storages"] += 1
                named = [holder["path"] for holder in storage["holders"] if holder["confirmed"]]
                counts["holders"] += len(storage["holders"])
                counts["confirmed"] += len(named)
                counts["kept"] += storage["bytes"] in kept and bool(named)
                false += [path for path in named if not re.match(allowed[storage["bytes"]], path)]
    print(", ".join(f"{count} {name}" for name, count in counts.items()), f"{len(false)} false")
    assert false == []
    # The program moves the variables of its module: a reading can miss them, and says nothing then.
    assert counts["kept"] >= 0.9 * len(kept) * counts["readings"]
    assert counts["storages"] > counts["kept"], "no reading met what the threads make"
