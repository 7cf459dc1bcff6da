"""A job that dies on a GPU dies as it would without the tool, and its trace is complete to the last published record."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
import recorded

# Prints what torch counts, then dies with memory of known size alive.
HEAD = """
import json, os, signal, sys, torch
import dc_memtrace as dm
torch.cuda.init()
model = torch.nn.Linear(512, 512, device="cuda")
kept = [torch.ones(1 << 18, device="cuda") for _ in range(3)]
for _ in range(5):
    model(torch.ones(64, 512, device="cuda")).sum().backward()
torch.cuda.synchronize()
dm.mark("counted")
print(json.dumps(torch.cuda.memory_stats()["allocated_bytes.all.current"]), flush=True)
"""
ILLEGAL = """
write = torch.cuda._compile_kernel('extern "C" __global__ void bad(float* p) { *(volatile float*)16 = p[0]; }', "bad")
write((1, 1, 1), (1, 1, 1), (kept[0],))
torch.cuda.synchronize()
"""
ASSERT = """
kept[0][torch.tensor([1 << 30], device="cuda")].sum().item()
"""
KILL = """
os.kill(os.getpid(), signal.SIGKILL)
"""
ABORT = """
os.abort()
"""


def died(script, folder=None) -> subprocess.CompletedProcess:
    command = [sys.executable, script]
    if folder is not None:
        command = [recorded.TOOL, "run", "-q", "-o", folder, "--detail", "full", "--", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=recorded.environment())


def check_complete(trace, status: int) -> None:
    assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
    meta = recorded.meta(trace)
    lost = dict(recorded.query(trace, "SELECT reason, sum(count) FROM loss GROUP BY reason"))
    threads = recorded.query(trace, "SELECT count(*) FROM thread")[0][0]
    assert lost.pop("in_flight", 0) <= 3 * threads and not lost
    assert meta["exit"] == (f"signal {status - 128}" if status > 128 else f"exit {status}")


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("end", "status"),
    [(ILLEGAL, 1), (ASSERT, 1), (KILL, 128 + signal.SIGKILL), (ABORT, 128 + signal.SIGABRT)],
    ids=["illegal-address", "device-assert", "sigkill", "abort"],
)
def test_the_trace_is_complete(end, status, tmp_path):
    script = tmp_path / "dies.py"
    script.write_text(HEAD + end)
    plain = died(script)
    assert plain.returncode == (128 - status if status > 128 else status), plain.stderr
    recorded_run = died(script, tmp_path / "out")
    assert recorded_run.returncode == status, recorded_run.stderr
    assert recorded_run.stdout == plain.stdout
    (trace,) = recorded.traces(tmp_path / "out")
    check_complete(trace, status)
    alive = recorded.query(
        trace,
        "SELECT sum(b.bytes) FROM block b, mark m JOIN string ON string.id = m.name WHERE text = 'counted'"
        " AND b.device = 'cuda:0' AND b.from_seq <= m.from_seq AND (b.to_seq IS NULL OR b.to_seq > m.from_seq)",
    )
    assert alive == [(json.loads(plain.stdout),)]


# Rank 1 leaves while rank 0 waits for it in a collective: NCCL's watchdog ends rank 0.
RANKS = """
import datetime, os, sys, torch
import torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=10))
x = torch.ones(1 << 20, device="cuda")
dist.all_reduce(x)
torch.cuda.synchronize()
if rank == 1:
    os._exit(3)
dist.all_reduce(x)
torch.cuda.synchronize()
"""
LAUNCHER = """
import os, socket, subprocess, sys
with socket.socket() as s:
    s.bind(("localhost", 0))
    port = s.getsockname()[1]
ranks = [
    subprocess.Popen([sys.executable, sys.argv[1]], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2",
                     "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}, stderr=subprocess.DEVNULL)
    for rank in range(2)
]
print(*(rank.wait() for rank in ranks))
"""


@pytest.mark.multigpu
def test_a_rank_that_nccl_aborts(tmp_path):
    launcher, ranks = tmp_path / "launcher.py", tmp_path / "ranks.py"
    launcher.write_text(LAUNCHER)
    ranks.write_text(RANKS)
    plain = recorded.python(launcher, ranks)
    assert plain.returncode == 0, plain.stderr
    done = recorded.record(tmp_path / "out", launcher, ranks, detail="full")
    assert done.stdout.split() == plain.stdout.split() != ["0", "3"]
    for trace in recorded.traces(tmp_path / "out"):
        assert recorded.query(trace, "PRAGMA integrity_check") == [("ok",)]
        assert recorded.query(trace, "SELECT count(*) FROM loss WHERE reason != 'in_flight'") == [(0,)]
        assert recorded.query(trace, "SELECT count(*) FROM block WHERE device LIKE 'cuda:%' AND bytes = 4194304") != [(0,)]
