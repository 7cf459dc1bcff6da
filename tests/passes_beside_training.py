"""Passes over a training GPT of 51 M parameters, while it runs: no holder that they confirm is ever false.

The program judges each one itself, standing still from the middle of the pass on (programs/training_gpt.py). 4 passes, or
DCMT_PASSES; run by scripts/soak.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

import recorded

PASSES = int(os.environ.get("DCMT_PASSES", "4"))
SMALLEST = 65536  # bytes


@contextlib.contextmanager
def training(tmp_path):
    ready = tmp_path / "ready"
    command = [sys.executable, "-W", "ignore", recorded.PROGRAMS / "training_gpt.py", ready]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 300
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, "the program never trained"
            time.sleep(0.1)
        yield process
        assert process.poll() is None, "the program came to harm"
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def reader_of(pid):
    command = [recorded.BUILD / "bin" / "memory_passes", str(pid), recorded.BUILD / "share" / "dcmt" / "layouts"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        yield reader
        reader.stdin.close()
        assert reader.wait() == 0


def test_no_holder_is_false(tmp_path):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    counts, late, false, missing = collections.Counter(), collections.Counter(), [], collections.Counter()
    seconds, cpu, references, peak, earlier = [0.5], [], [], 0, set()
    with training(tmp_path) as process, reader_of(process.pid) as reader:
        for _ in range(PASSES):
            time.sleep(draw.uniform(0, 0.5))
            reader.stdin.write("\n")
            reader.stdin.flush()
            time.sleep(draw.uniform(0, 0.8) * statistics.median(seconds))
            process.send_signal(signal.SIGUSR1)
            made = json.loads(reader.stdout.readline())
            held = float(process.stdout.readline())
            claims = [(storage["data"], path) for storage in made["storages"] for path, rooted in storage["holders"] if rooted]
            cycles = {(storage["data"], path) for storage in made["storages"] for path, rooted in storage["holders"] if not rooted}
            # The program makes no cycle. That no root leads somewhere is said where passes agree, and only there.
            false += sorted(cycles & earlier)
            counts["cycles in one pass"] += len(cycles)
            earlier = cycles
            process.stdin.write(json.dumps(claims) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            seconds.append(made["end"] - made["begin"])
            cpu.append(made["cpu"])
            references.append(made["references"])
            peak = max(peak, made["peak_kib"])
            # Before, a holder may have been confirmed that was true then.
            is_held = held < made["second"]
            into = counts if is_held else late
            into["passes"] += 1
            for (data, path), verdict in zip(claims, answer["verdicts"], strict=True):
                into[verdict] += 1
                if verdict == "false" and is_held:
                    false.append((data, path))
                elif verdict == "unread":
                    missing["unread " + re.sub(r"\d+", "N", path)] += 1
            alive = set(answer["alive"])
            named = {storage["data"] for storage in made["storages"] if storage["holders"]}
            listed = {storage["data"] for storage in made["storages"]} & alive
            into["alive"] += len(listed)
            into["unnamed"] += len(listed - named)
    print("stood still before the second reading:", dict(counts))
    print("later:", dict(late))
    print(missing.most_common(10))
    print(f"a pass: median {statistics.median(seconds[1:]):.2f} s, {statistics.median(cpu):.2f} s of CPU, {peak / 1024:.0f} MiB; "
          f"at most {max(references)} references")
    for path, count in collections.Counter(path for _, path in false).most_common():
        print(f"FALSE {count} {path}")
    assert false == []
    assert counts["true"] > 0
    assert peak < 256 * 1024
