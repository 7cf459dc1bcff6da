"""The work of a report grows with the trace, not with its square: a test of instructions, which are the same on a busy
machine. What it keeps of each row is little."""

from __future__ import annotations

import json
import math
import pathlib
import re
import resource
import subprocess

import pytest
import recorded
from written_trace import Trace, fsdp2

SMALL, LARGE = 250, 2000
LARGEST_EXPONENT = 1.2


def one_storage_for_the_run(trace: Trace, cycles: int) -> None:
    fsdp2(trace, cycles, 1)


def one_storage_kept_past_each_release(trace: Trace, cycles: int) -> None:
    fsdp2(trace, cycles, 1, kept=True)


def storages_that_never_go(trace: Trace, cycles: int) -> None:
    """Storages that are released and alive to the end of the trace. For each, the operators until then are counted."""
    for key in range(cycles):
        storage, block, gather, release, _, settled = (trace.next_seq() for _ in range(6))
        trace.lifetime("storage", storage, None, address=storage, bytes=1024, first_seen=0)
        trace.lifetime("block", block, None, address=block, bytes=1024, storage_back=block - storage)
        trace.gather(gather, key, storage)
        trace.release(release, key, storage, settled, 1024)
        for _ in range(20):
            start = trace.next_seq()
            trace.ordinal += 1
            trace.lifetime(
                "operator", start, 1, name=trace.string("aten::mm"), scope_code=0, ordinal=trace.ordinal
            )
            trace.next_seq()


def one_block_for_the_run(trace: Trace, cycles: int) -> None:
    """A buffer that is never resized: each of its releases is a gap in the life of one block."""
    storage, block = (trace.next_seq() for _ in range(2))
    trace.lifetime("storage", storage, None, address=4096, bytes=1024, first_seen=0)
    trace.lifetime("block", block, None, address=64, bytes=1024, storage_back=block - storage)
    for _ in range(8 * cycles):
        trace.gather(trace.next_seq(), 0, storage)
        release, _, settled = (trace.next_seq() for _ in range(3))
        trace.release(release, 0, storage, settled, 1024)
        trace.mark(step := trace.next_seq(), step, "step", value=step)


def instructions(tmp_path: pathlib.Path, *arguments: object) -> int:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={tmp_path / 'counts'}"]
    command += [recorded.TOOL, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=180, env=recorded.environment())
    assert result.returncode == 0, result.stderr
    return int(re.search(r"I +refs: +([\d,]+)", result.stderr)[1].replace(",", ""))


@pytest.mark.parametrize(
    "write",
    recorded.some([one_storage_for_the_run, one_storage_kept_past_each_release, one_block_for_the_run, storages_that_never_go], 2),
)
def test_a_report_grows_with_the_trace(tmp_path, write):
    work = []
    for size in (1, SMALL, LARGE):
        path = tmp_path / f"{size}.dcmt"
        trace = Trace(path)
        write(trace, size)
        trace.save()
        work.append(instructions(tmp_path, "report", path))
    nothing, small, large = work
    # Of sizes far apart: the distribution of work over threads changes a single count by a tenth.
    exponent = math.log2((large - nothing) / (small - nothing)) / math.log2(LARGE / SMALL)
    assert exponent <= LARGEST_EXPONENT, (nothing, small, large)


def test_a_report_of_one_trace_pays_nothing_for_ranks(tmp_path):
    """The comparison of ranks needs the place of each block: 2 % of a report's instructions."""
    for rank in range(2):
        trace = Trace(tmp_path / f"rank{rank}.dcmt")
        one_storage_for_the_run(trace, 1)
        trace.save()
    compared = []
    for paths in ([tmp_path / "rank0.dcmt"], [tmp_path / "rank0.dcmt", tmp_path / "rank1.dcmt"]):
        instructions(tmp_path, "report", *paths)
        compared.append("analyzer::rank_facts" in (tmp_path / "counts").read_text())
    assert compared == [False, True]


def released_under_many_frames(trace: Trace, releases: int, frames: int = 40) -> None:
    """Each release is called from many functions. To print them all, only a few may be in memory at a time."""
    for frame in range(1, frames + 1):
        names = {"file": trace.string(f"/home/user/model/block_{frame}.py"), "function": trace.string(f"forward_{frame}")}
        trace.insert("frame", id=frame, line=frame, **names)
        trace.insert("stack", id=frame, parent=frame - 1 or None, frame=frame)
    for number in range(releases):
        storage, block, gather, release, _, settled, end = (trace.next_seq() for _ in range(7))
        trace.lifetime("storage", storage, end - storage, address=storage, bytes=1024, first_seen=0)
        of_storage = {"bytes": 1024, "storage_back": block - storage, "stack": frames, "free_stack": frames}
        trace.lifetime("block", block, end - block, address=block, **of_storage)
        trace.gather(gather, number % 100, storage)
        trace.release(release, number % 100, storage, settled, 1024)
    trace.database.execute("UPDATE mark SET stack = ?", (frames,))


def with_memory(most: int, *arguments: object) -> subprocess.CompletedProcess:
    """Runs the tool with a limit of MiB for its data. Stacks of threads count, so they are small."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
        resource.setrlimit(resource.RLIMIT_DATA, (most << 20, most << 20))

    return recorded.tool(*arguments, preexec_fn=limit)


@pytest.mark.parametrize("command", ["report", "show releases", "show releases --json"])
def test_releases_are_printed_with_little_memory(tmp_path, command):
    trace = Trace(tmp_path / "t.dcmt")
    released_under_many_frames(trace, 10_000)
    trace.save()
    done = with_memory(40, *command.split(), tmp_path / "t.dcmt")
    assert done.returncode == 0, done.stderr
    if "--json" in command:
        assert len(json.loads(done.stdout)["traces"][0]["releases"]) == 10_000
    else:
        assert "10,000" in done.stdout


def test_a_cycle_needs_little_memory(tmp_path):
    """A tenth of 1,000 steps of 300 parameters, whose report may take 300 MiB (docs/benchmarks.md)."""
    trace = Trace(tmp_path / "t.dcmt")
    fsdp2(trace, 100, 300)
    trace.save()
    done = with_memory(48, "report", tmp_path / "t.dcmt")
    assert done.returncode == 0, done.stderr
    assert "30,000 of 30,000 releases freed at once" in done.stdout
