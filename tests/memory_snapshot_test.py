"""`report` of torch's memory snapshots: peaks and curves are those that the allocator counted and torch's viewer draws."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import subprocess
import sys

import memory_snapshots
import pytest
import recorded
from memory_snapshots import Allocator, as_the_viewer_draws_it, snapshot

TESTDATA = recorded.ROOT / "tests" / "testdata"
FIXTURES = sorted(TESTDATA.glob("snapshot_*.pickle"))


def saved(path, data, protocol=4):
    path.write_bytes(pickle.dumps(data, protocol=protocol))
    return path


def reported(path):
    (trace,) = recorded.report(path)
    return trace


def as_trace(pickled, folder):
    trace = folder / "snapshot.dcmt"
    result = recorded.tool("convert", pickled, "--to", "trace", "-o", trace)
    assert result.returncode == 0, result.stderr
    return trace


def curves(trace, device):
    """Allocated and active bytes after each change, from the rows."""
    rows = recorded.query(
        trace,
        f"SELECT from_seq, bytes, to_seq, wait_seq_length, done_seq FROM block WHERE device = 'cuda:{device}'",
    )
    allocated, active = {}, {}
    for born, size, freed, waits, done in rows:
        # A free that waits for nothing is completed by the entry after the request.
        ended = done if waits is not None else None if freed is None else freed + 1
        for curve, end in ((allocated, freed), (active, ended)):
            curve[born] = curve.get(born, 0) + size
            if end is not None:
                curve[end] = curve.get(end, 0) - size
    sums = []
    for curve in (allocated, active):
        total, points = 0, {}
        for seq in sorted(curve):
            total += curve[seq]
            points[seq] = total
        sums.append(points)
    return sums


def notes(report):
    return " ".join(fact["text"] for fact in report["facts"]["diagnostics"])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_whole_history_has_the_peaks_that_the_allocator_counted(seed, protocol, tmp_path):
    allocator = Allocator(seed).run(300)
    (device,) = reported(saved(tmp_path / "s.pickle", snapshot(allocator), protocol))["devices"]
    assert device["device"] == "cuda:0"
    assert device["bytes"] == max(allocator.requested)
    assert device["active_bytes"] == max(allocator.active)
    assert device["reserved_bytes"] == max(allocator.reserved)


@pytest.mark.parametrize("cut", [1, 40, 150, 299])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_a_ring_buffer_is_exact(seed, cut, tmp_path):
    allocator = Allocator(seed).run(300)
    data = snapshot(allocator, cut=cut)
    report = reported(saved(tmp_path / "s.pickle", data))
    (device,) = report["devices"]
    before = allocator.requested[cut - 1]
    assert device["bytes"] == max([before, *allocator.requested[cut:]])
    assert device["active_bytes"] == max([allocator.active[cut - 1], *allocator.active[cut:]])
    assert device["reserved_bytes"] == max([allocator.reserved[cut - 1], *allocator.reserved[cut:]])
    assert as_the_viewer_draws_it(data, 0)[-1] <= device["active_bytes"]
    assert ("peaks before it are not known" in notes(report)) == (before > 0)


@pytest.mark.parametrize("cut", [0, 77])
def test_every_point_is_one_that_the_viewer_draws(cut, tmp_path):
    allocator = Allocator(5).run(400)
    for block in allocator.pending[:]:  # the viewer omits blocks from before the history that wait at the end
        allocator.pending.remove(block)
        allocator.complete(block)
    data = snapshot(allocator, cut=cut)
    trace = as_trace(saved(tmp_path / "s.pickle", data), tmp_path)
    allocated, active = curves(trace, 0)
    (first,) = recorded.query(trace, "SELECT last_seq.value - ? - 1 FROM meta AS last_seq WHERE key = 'last_seq'".replace(
        "?", str(len(data["device_traces"][0]))))
    drawn = as_the_viewer_draws_it(data, 0)
    points = {first[0] + 1 + number: size for number, size in enumerate(drawn)}
    for seq, size in active.items():
        if seq in points:
            assert size == points[seq], seq
    assert len(set(active) & set(points)) > 100
    expected = {first[0] + 1 + number: size for number, size in enumerate(allocator.requested[cut:])}
    for seq, size in allocated.items():
        if seq in expected:
            assert size == expected[seq], seq


def reserved_by_rows(trace, device):
    """Reserved bytes from the begin on, after each record that changes them."""
    changes = {0: 0}
    for begin, end, size in recorded.query(trace, f"SELECT from_seq, to_seq, bytes FROM segment WHERE device = 'cuda:{device}'"):
        changes[begin] = changes.get(begin, 0) + size
        if end is not None:
            changes[end] = changes.get(end, 0) - size
    return list(itertools.accumulate(changes[seq] for seq in sorted(changes)))


def reserved_by_history(data, device):
    """Reserved bytes, counted backwards from the final segments."""
    signs = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
    changes = [signs[entry["action"]] * entry["size"] for entry in data["device_traces"][device] if entry["action"] in signs]
    last = sum(segment["total_size"] for segment in data["segments"] if segment["device"] == device)
    return list(itertools.accumulate(changes, initial=last - sum(changes)))


def segments_at_last(trace, device):
    """Address and bytes of the final segments. Adjacent parts of an expandable segment are merged."""
    found = []
    for address, size, expandable in recorded.query(
        trace, f"SELECT address, bytes, expandable FROM segment WHERE to_seq IS NULL AND device = 'cuda:{device}' ORDER BY address"
    ):
        if found and expandable and sum(found[-1]) == address:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((address, size))
    return found


@pytest.mark.parametrize("made", [*FIXTURES, *itertools.product(range(3), [0, 40, 299])],
                         ids=lambda made: getattr(made, "stem", str(made)))
def test_segments_are_those_of_the_snapshot(made, tmp_path):
    data = snapshot(Allocator(made[0]).run(300), cut=made[1]) if isinstance(made, tuple) else pickle.loads(made.read_bytes())
    trace = as_trace(saved(tmp_path / "s.pickle", data), tmp_path)
    assert reserved_by_rows(trace, 0) == reserved_by_history(data, 0)
    assert segments_at_last(trace, 0) == sorted((segment["address"], segment["total_size"]) for segment in data["segments"])
    ((peak, last),) = recorded.query(trace, "SELECT reserved_peak_bytes, reserved_end_bytes FROM interval_curve")
    assert (peak, last) == (max(reserved_by_rows(trace, 0)), reserved_by_rows(trace, 0)[-1])
    # Each block lies within one segment for its whole life.
    assert recorded.query(trace, """
        SELECT block.id FROM block WHERE NOT EXISTS (
            SELECT 1 FROM segment WHERE segment.device = block.device AND segment.address <= block.address
            AND block.address < segment.address + segment.bytes AND segment.from_seq <= block.from_seq
            AND (segment.to_seq IS NULL OR segment.to_seq >= block.to_seq))""") == []


def test_devices_have_peaks_of_their_own(tmp_path):
    allocators = [Allocator(1, 0).run(200), Allocator(2, 1).run(100)]
    report = reported(saved(tmp_path / "s.pickle", snapshot(*allocators)))
    peaks = {device["device"]: device["bytes"] for device in report["devices"]}
    assert peaks == {f"cuda:{i}": max(each.requested) for i, each in enumerate(allocators)}


def test_the_report_says_what_is_known_and_what_cannot_be(tmp_path):
    allocator = Allocator(3, waits=0).run(200)
    text = recorded.tool("report", "--bytes", saved(tmp_path / "s.pickle", snapshot(allocator))).stdout
    assert f"{max(allocator.requested):,} B" in text
    assert "train.py:1" in text and "layer1" in text  # its sites
    assert "as far as the snapshot goes back" in text
    assert "Who holds them, what reads them and what was released is not in it" in text
    assert f"{sum(allocator.segments.values()):,} B were reserved in {len(allocator.segments)} segments" in text
    assert "No finding" not in text
    report = reported(tmp_path / "s.pickle")
    at_peak = max(range(len(allocator.requested)), key=lambda i: allocator.requested[i])
    assert report["peak"]["bytes"] == allocator.requested[at_peak]
    assert sum(site["bytes"] for site in report["peak"]["by_site"]) == allocator.requested[at_peak]


def test_a_snapshot_without_a_history_has_no_peak(tmp_path):
    allocator = Allocator(4).run(100)
    data = {**snapshot(allocator), "device_traces": [[]]}
    report = reported(saved(tmp_path / "s.pickle", data))
    assert report["peak"]["bytes"] == sum(block["size"] for block in allocator.live)
    assert "no history: the peak is not known" in notes(report)
    assert report["facts"]["history"] == "none" and report["findings"] == []
    text = recorded.tool("report", tmp_path / "s.pickle").stdout
    assert "It has no history: the peak is not known." in text and "peak allocated" not in text


def test_a_history_that_began_late_has_no_peak_and_accuses_nobody(tmp_path):
    """64 MiB are reserved at its begin, and nothing is active: they may have been before."""
    allocator = Allocator(4, waits=0)
    for _ in range(64):
        allocator.allocate(memory_snapshots.SEGMENT)
    while allocator.live:
        allocator.free(allocator.live.pop(), False)
    cut = len(allocator.history)
    allocator.allocate(1000)
    allocator.allocate(1000)
    whole = reported(saved(tmp_path / "whole.pickle", snapshot(allocator)))
    assert whole["facts"]["history"] == "whole" and whole["findings"] == []
    report = reported(saved(tmp_path / "late.pickle", snapshot(allocator, cut=cut)))
    assert report["facts"]["history"] == "late" and report["findings"] == []
    text = recorded.tool("report", tmp_path / "late.pickle").stdout
    assert "The peak before it is not known." in text and "never active" not in text


def frame(name, file="/program/??", line=0):
    return {"name": name, "filename": file, "line": line}


def test_what_the_engine_allocates_has_its_node_and_operator_as_place(tmp_path):
    node = [frame("torch::unwind::unwind()"), frame("c10::cuda::CUDACachingAllocator::malloc(unsigned long)"),
            frame("at::_ops::div_Tensor::call(at::Tensor const&, at::Tensor const&)"),
            frame("torch::autograd::generated::MeanBackward0::apply(std::vector<at::Tensor>&&)"), frame("__clone")]
    stacks = {
        "backward: MeanBackward0 → aten::div": node,
        "train(Net&)": [frame("torch::unwind::unwind()"), frame("train(Net&)"), frame("main")],
        "user/train.py:7 step": [*node, frame("step", "/home/user/train.py", 7)],
        "proj/train.py:9 step": [frame("step", "C:\\Users\\a\\proj\\train.py", 9)],
    }  # fmt: skip
    allocator = Allocator(1)
    for number, stack in enumerate(stacks.values()):
        allocator.allocate(1000 + number)
        allocator.history[-1]["frames"] = allocator.live[-1]["frames"] = stack
    report = reported(saved(tmp_path / "s.pickle", snapshot(allocator)))
    assert {site["name"] for site in report["peak"]["by_site"]} == set(stacks)


def test_blocks_from_before_the_history_are_called_so(tmp_path):
    allocator = Allocator(1)
    allocator.allocate(1000)
    allocator.live[-1]["frames"] = []
    allocator.allocate(10)
    report = reported(saved(tmp_path / "s.pickle", snapshot(allocator, cut=2)))
    assert "(from before the history)" in {site["name"] for site in report["peak"]["by_site"]}


def test_an_error_has_its_free_bytes_and_nothing_of_threads(tmp_path):
    allocator = Allocator(6).run(50)
    allocator.entry("oom", 0, 1 << 50, device_free=3 << 20)
    text = recorded.tool("report", saved(tmp_path / "s.pickle", snapshot(allocator))).stdout
    assert "free 3.0 MiB" in text
    assert "after it" not in text


def test_steps_of_the_profiler_and_errors_are_there(tmp_path):
    allocator = Allocator(6)
    annotations = []
    for step in range(3):
        annotations.append({"stage": "START", "name": f"ProfilerStep#{step}", "device": 0, "time_us": allocator.time})
        allocator.time += 5
        allocator.run(50)
        allocator.time += 5
        annotations.append({"stage": "END", "name": f"ProfilerStep#{step}", "device": 0, "time_us": allocator.time})
        allocator.time += 5
    allocator.entry("oom", 0, 1 << 50, device_free=12345)
    report = reported(saved(tmp_path / "s.pickle", {**snapshot(allocator), "external_annotations": annotations}))
    assert [step["step"] for step in report["steps"]] == [0, 1, 2]
    (finding,) = report["findings"]
    assert finding["rule"] == "out_of_memory"


def test_a_snapshot_passes_no_gate(tmp_path):
    """Its history may begin after the highest peak."""
    path = saved(tmp_path / "s.pickle", snapshot(Allocator(9).run(100)))
    baseline = tmp_path / "baseline.json"
    result = recorded.tool("check", "--update", "--baseline", baseline, path)
    assert result.returncode == 6 and "memory snapshot" in result.stdout + result.stderr
    assert not baseline.exists()


REFUSED = {
    "runs_code": (b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x0atouch pwned\x94\x85\x94R\x94.", "STACK_GLOBAL"),
    "old_protocol": (pickle.dumps({"segments": []}, protocol=1), "not a dc-memtrace trace"),
    "no_snapshot": (pickle.dumps({"weights": [1, 2]}), "no memory snapshot of torch"),
    "segments_only": (pickle.dumps([{"device": 0}]), "segments only"),
    "negative": (pickle.dumps({"segments": [{"device": 0, "total_size": -1}]}), "no sensible value"),
    "too_much": (pickle.dumps({"segments": [{"device": 0, "total_size": 1 << 48}] * (1 << 14)}), "add up to too much"),
    "many_devices": (pickle.dumps({"segments": [{"device": 1 << 40}]}), "there is a device"),
    "no_action": (pickle.dumps({"segments": [], "device_traces": [[{"size": 1}]]}), "has no action"),
    "lists_for_entries": (pickle.dumps({"segments": [[]], "device_traces": []}), "has something else"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_snapshot_is_refused_in_one_line(name, tmp_path):
    content, why = REFUSED[name]
    path = tmp_path / "s.pickle"
    path.write_bytes(content)
    assert why in recorded.one_line(recorded.tool("report", path, cwd=tmp_path), 3)
    assert not (tmp_path / "pwned").exists()


def test_each_truncated_snapshot_is_refused(tmp_path):
    whole = pickle.dumps(snapshot(Allocator(7).run(20)))
    for size in range(2, len(whole), len(whole) // 40):
        path = tmp_path / "s.pickle"
        path.write_bytes(whole[:size])
        assert "cut short" in recorded.one_line(recorded.tool("report", path), 3)


def bomb_of_shared_entries():
    """10^9 entries in 100 kB."""
    entry = {"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": []}
    trace = [entry] * 30_000
    return pickle.dumps({"segments": [], "device_traces": [trace] * 100})


def bomb_of_shared_lists():
    inner: list = []
    for _ in range(64):
        inner = [inner, inner]
    return pickle.dumps({"segments": [], "device_traces": inner})


def bomb_of_shared_frames():
    """10^10 keys in a megabyte."""
    frame = {"filename": "a.py", "name": "f", "line": 1} | {str(number): None for number in range(100_000)}
    entry = {"action": "alloc", "addr": 1, "size": 1, "stream": 0, "frames": [frame] * 100_000}
    return pickle.dumps({"segments": [], "device_traces": [[entry]]})


def test_a_frame_with_too_many_keys_is_left_out(tmp_path):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(bomb_of_shared_frames())
    assert recorded.tool("report", path, timeout=20).returncode == 0


@pytest.mark.parametrize("bomb", [bomb_of_shared_entries(), bomb_of_shared_lists(), b"\x80\x04" + b"]" * (8 << 20),
                                  b"\x80\x04" + b"]\x94" * 1000 + b"r\xff\xff\xff\x7f."],
                         ids=["entries", "lists", "empty_lists", "memo"])
def test_a_bomb_ends_in_one_line_with_little_memory(bomb, tmp_path):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(bomb)
    limited = f"ulimit -v {400 << 10}; exec '{recorded.TOOL}' report '{path}'"
    result = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60)
    recorded.one_line(result, 3)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_snapshots_of_torch_have_what_torch_counted(path, tmp_path):
    expected = json.loads(path.with_suffix(".json").read_text())
    data = pickle.loads(path.read_bytes())
    report = reported(path)
    (device,) = report["devices"]
    counted = expected["after_operation"]
    history = data["device_traces"][0] if data["device_traces"] else []
    if "before it are not known" not in notes(report) and history:
        assert device["active_bytes"] == expected["peaks"]["requested_bytes"]
        assert device["reserved_bytes"] == expected["peaks"]["reserved_bytes"]
    if not history:
        assert "no history" in notes(report)
        return
    trace = as_trace(path, tmp_path)
    _, active = curves(trace, 0)
    ((last,),) = recorded.query(trace, "SELECT max(to_seq) FROM interval")
    drawn = as_the_viewer_draws_it(data, 0)
    assert list(active.values())[-1] == drawn[-1] == counted[-1]["requested_bytes"]
    assert device["active_bytes"] >= max(drawn)
    # The counters after each operation that has entries.
    ends = {}
    for number, entry in enumerate(history):
        if entry["user_metadata"].startswith("op "):
            ends[int(entry["user_metadata"].removeprefix("op "))] = number
    assert ends or len(history) == 1  # enabled="state" leaves the latest entry
    for operation, number in ends.items():
        if operation < len(counted):
            assert drawn[number] == counted[operation]["requested_bytes"], operation
