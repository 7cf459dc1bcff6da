"""Attaching to both ranks of a training over NCCL, with a GPU each, with --kernels and without: what is seen, and that it
trains as if nobody had come."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest
import recorded
from attached import NOTES, hooks_in
from attached_kernels_test import readers, whole
from attached_test import CYCLES, ENVIRONMENT
from proc import until

pytestmark = pytest.mark.multigpu
PROGRAM = recorded.PROGRAMS / "attached_nccl.py"
RANKS = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", PROGRAM]


def result_of(out: str) -> dict:
    (line,) = (line for line in out.splitlines() if line.startswith("{"))
    return json.loads(line)


def test_two_ranks_train_as_if_nobody_had_come(tmp_path):
    folder = tmp_path / "program"
    folder.mkdir()
    process = subprocess.Popen([*RANKS, folder], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True)
    try:
        until(lambda: all((folder / f"pid{rank}").exists() for rank in (0, 1)) or process.poll() is not None)
        pids = [int((folder / f"pid{rank}").read_text()) for rank in (0, 1)]
        for number in range(CYCLES):
            trace = tmp_path / f"trace{number}"
            detail = ("full", "lifetimes")[number % 2]
            kernels = number // 2 % 2 == 1
            flags = ["--all-ranks", "-q", "--steps", 3, "--detail", detail, *(["--kernels"] if kernels else [])]
            attached = recorded.tool("attach", pids[0], *flags, "-o", trace)
            assert attached.returncode == 0, attached.stderr
            assert [each.name for each in recorded.traces(trace)] == ["rank0.dcmt", "rank1.dcmt"]
            for rank, each in enumerate(recorded.traces(trace)):
                assert hooks_in(pids[rank]) == []
                names = {name for release in whole(each) for name in readers(release)}
                # The program finds the agent a second after the first attach.
                assert number == 0 or ("late_read" in names) == kernels, (number, names)
                meta = recorded.meta(each)
                assert (meta["state"], meta["lost_deaths"], int(meta["pid"])) == ("finished", 0, pids[rank])
                assert "blocks of GPUs" in str(recorded.query(each, NOTES))
                assert recorded.query(each, "SELECT DISTINCT device FROM block WHERE device != 'cpu'") == [(f"cuda:{rank}",)]
        (folder / "end").touch()
        out, _ = process.communicate(timeout=120)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == 0
    result = result_of(out)
    plain = tmp_path / "plain"
    plain.mkdir()
    untouched = subprocess.run([*RANKS, plain, str(len(result["losses"]))], capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert untouched.returncode == 0, untouched.stderr
    assert result_of(untouched.stdout) == result
