"""Programs of other authors: recording changes no number, counts what torch counts, and has no finding."""

from __future__ import annotations

import hashlib
import json
import pathlib
import subprocess

import pytest
import recorded

PROGRAMS = {
    "gpt2": [recorded.PROGRAMS / "gpt2_trainer.py"],
    "resnet18": [recorded.PROGRAMS / "resnet18.py"],
}
LIBTORCH = recorded.BUILD / "bin" / "libtorch_train"


def result_of(output: str, parameters: pathlib.Path) -> dict:
    """The program's JSON line. The parameters of the C++ program are hashed here."""
    result = json.loads(output.splitlines()[-1])
    if parameters.exists():
        result["sha256"] = hashlib.sha256(parameters.read_bytes()).hexdigest()
    assert len(result["sha256"]) == 64
    return result


def run_plain(name: str, parameters: pathlib.Path) -> dict:
    if name == "libtorch":
        done = subprocess.run([LIBTORCH, parameters], capture_output=True, text=True, timeout=180)
    else:
        done = recorded.python(*PROGRAMS[name])
    assert done.returncode == 0, done.stderr
    return result_of(done.stdout, parameters)


def run_recorded(name: str, folder: pathlib.Path, detail: str, parameters: pathlib.Path) -> dict:
    """Runs it recorded, with torch's profiler counting at the same time."""
    if name == "libtorch":
        done = recorded.tool("run", "-o", folder, "--detail", detail, "--", LIBTORCH, parameters, "--profile")
        assert done.returncode == 0, done.stderr
    else:
        done = recorded.record(folder, *PROGRAMS[name], "--profile", detail=detail)
    return result_of(done.stdout, parameters)


def counts_of(trace: pathlib.Path) -> dict:
    """What torch's own counter recorded between the marks of the phase `profiled`, counted from the trace's rows."""
    ((begin, end),) = recorded.query(
        trace,
        "SELECT from_seq, to_seq FROM mark JOIN string ON string.id = mark.name"
        " WHERE kind = 'phase' AND text = 'profiled'",
    )
    return recorded.memory_counts(trace, begin, end)


@pytest.mark.parametrize("name", [*recorded.some(PROGRAMS, 2), "libtorch"])
def test_recording_changes_nothing_counts_exactly_and_finds_nothing(name, tmp_path):
    """With each detail. In a short run, the program in C++ alone has both, because it starts soon."""
    plain = run_plain(name, tmp_path / "plain.bin")
    assert len(plain["losses"]) == 20
    for detail in ("lifetimes", "full") if name == "libtorch" or recorded.ALL else ("lifetimes",):
        folder = tmp_path / detail
        counted = run_recorded(name, folder, detail, tmp_path / f"{detail}.bin")
        memory = counted.pop("memory")
        assert counted == plain, f"{detail}: losses or parameters changed"

        (trace,) = recorded.traces(folder)
        counts = counts_of(trace)
        if detail == "lifetimes":  # which of the small blocks are summed
            memory, counts = ({key: of[key] for key in ("peak_bytes", "left_bytes")} for of in (memory, counts))
        assert counts == memory, detail
        (seen,) = recorded.report(folder)
        # The profiler keeps its counts until it ends: megabytes of malloc per step.
        own = [each for each in seen["findings"] if each["identity"]["born"] != "malloc in no storage of torch"]
        assert own == []
        assert seen["peak"]["bytes"] == recorded.peak_of(trace)
        assert recorded.query(trace, "SELECT count(*) FROM loss") == [(0,)]
        if detail == "full":
            assert recorded.query(trace, "SELECT count(*) FROM diagnostic WHERE code = 'lost_death'") == [(0,)]


def test_optimizer_steps_are_seen_without_any_mark(tmp_path):
    recorded.record(tmp_path / "out", recorded.PROGRAMS / "resnet18.py", "--steps", "3")
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.query(trace, "SELECT value FROM mark WHERE kind = 'step' ORDER BY value") == [(0,), (1,), (2,)]
    phases = recorded.query(
        trace, "SELECT text FROM mark JOIN string ON string.id = mark.name WHERE kind = 'phase' ORDER BY from_seq"
    )
    # The program's computations after its last step count as the begin of another forward.
    assert [name for (name,) in phases][:9] == ["forward", "backward", "optimizer"] * 3
