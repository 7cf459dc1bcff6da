"""Tensors of every kind, made in every way: what lives, who shares, how many bytes, what was allocated and freed.

Each case, with its tensors and without them, is compared with a scan of the program's memory, with what Python says of
its tensors, and with torch's own profiler.
"""

from __future__ import annotations

import json
import re

import exact
import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "tensor_kinds.py"
LIBRARIES = recorded.BUILD / "lib" / "tests"
# Starts processes that compile, and needs much memory: runs alone, and for long.
ALONE = ("compiled",)
CASES = [
    name
    for name in re.findall(r"^@case\ndef (\w+)", PROGRAM.read_text(), re.MULTILINE)
    if recorded.ALL or name not in ALONE
]
# Inline code makes a storage of a mapped file; the tensors lie on storages inside of it.
HAVE_A_FILE_AS_STORAGE = ("saved_and_loaded",)
# Inline code moves the storage of another tensor to tensors without memory of their own. Their old storages end then;
# the recorder can say when, as soon as it observes the change.
MOVE_BY_INLINE_CODE = ("functional", "subclasses")


class Recording:
    def __init__(self, folder, *cases):
        lists = folder / "lists"
        lists.mkdir(parents=True)
        done = recorded.record(
            folder / "out",
            *(PROGRAM, LIBRARIES / "libdcmt_live_objects.so", LIBRARIES / "libdcmt_late_extension.so", lists, *cases),
            detail="full",
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.reports = {line["case"]: line for line in lines}
        self.trace = max(recorded.traces(folder / "out"), key=lambda trace: recorded.meta(trace)["records"])
        self.lists, self.first = lists, cases[0]

    def point(self, name: str) -> int:
        """The sequence of a mark."""
        ((seq,),) = recorded.query(
            self.trace,
            "SELECT from_seq FROM mark JOIN string ON string.id = mark.name WHERE kind = 'user' AND text = ?",
            name,
        )
        return seq


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    return Recording(tmp_path_factory.mktemp("kinds"), *(name for name in CASES if name not in ALONE))


@pytest.fixture
def recording(request, name, tmp_path):
    return Recording(tmp_path, name) if name in ALONE else request.getfixturevalue("together")
# Threads that the program starts itself. torch's profiler does not count in them.
HAVE_THREADS = ("gradients_in_threads",)


def span(recording, name) -> tuple[int, int]:
    return recording.point(f"{name}:begin"), recording.point(f"{name}:end")


def difference(ours, theirs) -> dict:
    return {"only in the trace": dict(ours - theirs), "not in the trace": dict(theirs - ours)}


def shown_at_their_end(trace) -> set[int]:
    """Addresses of storages that never had a tensor and that torch made without a hook."""
    rows = recorded.query(trace, "SELECT DISTINCT address FROM storage WHERE from_seq = to_seq")
    return {address for (address,) in rows}


@pytest.mark.parametrize("name", CASES)
def test_the_trace_has_alive_what_lives(recording, name):
    for point in ("begin", "held", "end") if name == recording.first else ("held", "end"):
        mark = f"{name}:{point}"
        ours = exact.alive(recording.trace, recording.point(mark))
        theirs = exact.written(recording.lists / mark)
        nothing = {"only in the trace": {}, "not in the trace": {}}
        if name in HAVE_A_FILE_AS_STORAGE:
            for storage in theirs[0] - ours[0]:
                assert storage[0] in shown_at_their_end(recording.trace)
                del theirs[0][storage]
        assert difference(ours[0], theirs[0]) == nothing, f"storages at {mark}"
        assert difference(ours[1], theirs[1]) == nothing, f"tensors at {mark}"


@pytest.mark.parametrize("name", CASES)
def test_the_trace_agrees_with_python(recording, name):
    report = recording.reports[name]
    storages, tensors = exact.alive(recording.trace, recording.point(f"{name}:held"))
    for fact in report["facts"]:
        assert storages[fact["storage"], fact["bytes"]] == 1, fact
        if fact["tensor"] is not None:
            assert tensors[fact["tensor"], fact["storage"]] == 1, fact


@pytest.mark.parametrize("name", [name for name in CASES if name not in HAVE_THREADS])
def test_blocks_are_those_of_torchs_profiler(recording, name):
    assert recorded.memory_counts(recording.trace, *span(recording, name)) == recording.reports[name]["memory"]


def test_nothing_is_unseen(together):
    exact.check_nothing_unseen(together.trace, *(span(together, name) for name in MOVE_BY_INLINE_CODE))


def test_workers_are_silent(together):
    ((pid,),) = recorded.query(together.trace, "SELECT value FROM meta WHERE key = 'pid'")
    assert [recorded.meta(trace)["pid"] for trace in recorded.traces(together.trace.parent)] == [pid]
