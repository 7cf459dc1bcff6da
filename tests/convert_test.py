"""`convert`: files for other programs contain the lifetimes, the curve and the holders of the trace."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pickle
import pickletools
import shutil
import sqlite3
import subprocess
import sys

import pytest
import recorded
from memory_snapshots import Allocator, as_the_viewer_draws_it, snapshot

#: What the reader of torch/utils/viz/MemoryViz.js has a case for, of what a pickle of plain data may have.
MEMORY_VIZ_READS = {
    "PROTO", "FRAME", "MARK", "STOP", "MEMOIZE", "BINGET", "LONG_BINGET", "BINPUT", "LONG_BINPUT", "NONE", "NEWTRUE", "NEWFALSE",
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "SHORT_BINUNICODE", "BINUNICODE", "EMPTY_LIST", "LIST", "APPEND", "APPENDS",
    "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3",
}  # fmt: skip
GROWING = recorded.ROOT / "samples" / "growing_list" / "train.py"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A recorded training that keeps its losses in a list."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded.record(folder / "out", GROWING, detail="full")
    (trace,) = recorded.traces(folder / "out")
    return trace


@pytest.fixture(scope="module")
def gpu_trace(tmp_path_factory):
    """A trace of two GPUs whose blocks wait for streams, and the allocators that determine the expected result."""
    folder = tmp_path_factory.mktemp("gpus")
    allocators = [Allocator(1, 0).run(300), Allocator(2, 1).run(200)]
    source = folder / "s.pickle"
    source.write_bytes(pickle.dumps(snapshot(*allocators)))
    return converted(source, "trace", folder / "s.dcmt"), allocators


def converted(source, to, output, *flags):
    result = recorded.tool("convert", source, "--to", to, "-o", output, *flags)
    assert result.returncode == 0, result.stdout + result.stderr
    return output


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def curve_of(trace, device):
    return recorded.query(trace, f"SELECT seq, ns, bytes FROM allocated WHERE device = '{device}' ORDER BY seq")


@pytest.mark.parametrize(("to", "table"), [("csv", "curve"), ("perfetto", None)])
def test_what_was_written_is_said_as_json(trace, tmp_path, to, table):
    output = tmp_path / "written"
    result = recorded.tool("convert", trace, "--to", to, "-o", output, "--json", *(["--table", table] if table else []))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {
        "version": 1, "command": "convert", "input": str(trace), "output": str(output), "to": to, "table": table,
        "redacted": False, "sums_only": False, "bytes": output.stat().st_size,
    }  # fmt: skip


def test_torch_opens_the_snapshot_and_shows_who_holds_what(trace, tmp_path):
    path = converted(trace, "snapshot", tmp_path / "s.pickle")
    program = """
import json, pickle, sys
from torch.cuda import _memory_viz as viz
load = lambda: pickle.load(open(sys.argv[1], "rb"))
viz.trace_plot(load()), viz.trace_plot(load(), plot_segments=True), viz.trace_plot(load(), filter_freed=True)
viz.segment_plot(load())
identity = lambda lines: lines
print(json.dumps([viz.segsum(load()), viz.trace(load()), viz.memory(load(), identity), viz.segments(load(), identity),
                  viz.compare(load()["segments"], load()["segments"], identity)]))
"""
    done = recorded.python("-c", program, path)
    assert done.returncode == 0, done.stderr
    segsum, listed, memory, segments, compared = json.loads(done.stdout.splitlines()[-1])
    alive = recorded.query(trace, "SELECT count(*), sum(bytes) FROM block WHERE to_seq IS NULL")[0]
    assert f"segments: {alive[0]}" in segsum
    assert "main.losses" in memory and "main.losses" in segments and "train.py" in memory
    assert listed.count("cudaMalloc(") == recorded.query(trace, "SELECT count(*) FROM block")[0][0]
    flame = [line.rsplit(" ", 1) for line in memory.splitlines()]
    assert sum(int(size) for name, size in flame if "<gaps>" not in name) == alive[1]


def test_the_snapshot_draws_the_curve_of_the_trace(trace, tmp_path):
    data = pickle.loads(converted(trace, "snapshot", tmp_path / "s.pickle").read_bytes())
    drawn = as_the_viewer_draws_it(data, 0)
    actions = [entry["action"] for entry in data["device_traces"][0]]
    shown = [size for size, action in zip(drawn, actions) if action in ("alloc", "free_completed")]
    assert shown == [size for _, _, size in curve_of(trace, "cpu")]


def test_a_snapshot_comes_back_as_it_went(gpu_trace, tmp_path):
    source, allocators = gpu_trace
    path = converted(source, "snapshot", tmp_path / "s.pickle")
    data = pickle.loads(path.read_bytes())
    (report,) = recorded.report(path)
    peaks = {device["device"]: (device["bytes"], device["active_bytes"]) for device in report["devices"]}
    for number, allocator in enumerate(allocators):
        assert peaks[f"cuda:{number}"] == (max(allocator.requested), max(allocator.active))
        assert max(as_the_viewer_draws_it(data, number)) == max(allocator.active)
    stacks = {tuple((f["filename"], f["name"], f["line"]) for f in entry["frames"]) for entry in data["device_traces"][0]}
    assert ("/home/user/train.py", "layer10", 10) in {frame for stack in stacks for frame in stack}


def test_memory_viz_reads_each_opcode(tmp_path):
    """Names of one byte, of the length limit of the short form, of one byte more, and with characters of several bytes."""
    allocator = Allocator(3)
    names = ["f", "g" * 255, "h" * 256, "\u00fc" * 200]
    for number, frames in enumerate(allocator.frames.values()):
        frames[0]["name"] = names[number % len(names)]
    allocator.run(50)
    source = tmp_path / "s.pickle"
    source.write_bytes(pickle.dumps(snapshot(allocator)))
    written = converted(source, "snapshot", tmp_path / "o.pickle").read_bytes()
    assert {opcode.name for opcode, _, _ in pickletools.genops(written)} <= MEMORY_VIZ_READS
    shown = {frame["name"] for entry in pickle.loads(written)["device_traces"][0] for frame in entry["frames"]}
    assert shown.issuperset(names)


@pytest.mark.parametrize("which", ["trace", "gpu_trace"])
def test_perfetto_has_counters_lifetimes_and_steps(which, request, tmp_path):
    source = request.getfixturevalue(which)
    source = source if which == "trace" else source[0]
    events = json.loads(converted(source, "perfetto", tmp_path / "t.json").read_text())["traceEvents"]
    ((start,),) = recorded.query(source, "SELECT min(value, (SELECT min(from_ns) FROM block)) FROM meta WHERE key = 'start_ns'")
    devices = [row[0] for row in recorded.query(source, "SELECT DISTINCT device FROM block")]
    for device in devices:
        counters = [e for e in events if e["ph"] == "C" and e["name"] == f"{device} allocated"]
        assert [e["args"]["bytes"] for e in counters] == [size for _, _, size in curve_of(source, device)]
        times = [round(e["ts"] * 1000) for e in counters]
        assert times == [ns - start for _, ns, _ in curve_of(source, device)]
    begun = {e["id"]: e for e in events if e["ph"] == "b"}
    ended = {e["id"] for e in events if e["ph"] == "e"}
    blocks = recorded.query(source, "SELECT id, bytes, to_seq FROM block")
    assert {(number, e["args"]["bytes"]) for number, e in begun.items()} == {(id, size) for id, size, _ in blocks}
    assert ended == {id for id, _, to in blocks if to is not None}
    steps = [e["name"] for e in events if e["ph"] == "X" and e["tid"] == 1]
    numbers = [row[0] for row in recorded.query(source, "SELECT value FROM mark WHERE kind = 'step' ORDER BY from_seq")]
    assert [name for name in steps][:len(numbers)] == [f"step {number}" for number in numbers]
    if which == "trace":
        assert len(numbers) == 40
        assert any("main.losses" in e["args"]["holder"] for e in begun.values())
    else:
        assert [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "cuda:0 reserved"]


def test_perfetto_has_a_row_for_each_stream_and_no_slices_of_a_row_overlap(trace, tmp_path):
    worked = tmp_path / "worked.dcmt"
    shutil.copy(trace, worked)
    ((start,),) = recorded.query(worked, "SELECT value FROM meta WHERE key = 'start_ns'")
    # GPU, stream (None: not known), begin and end; two kernels of a graph overlap on stream 1.
    work = [(0, 1, 500, 900), (0, 1, 600, 700), (0, 1, 950, 960), (0, 0, 550, 650), (1, None, 500, 501)]
    with contextlib.closing(sqlite3.connect(worked)) as database, database:
        database.executemany(
            f"INSERT INTO gpu_work(gpu, stream, from_ns, to_ns, kind, graph) VALUES(?, ?, {start} + ?, {start} + ?, 'kernel', 0)", work
        )
    events = json.loads(converted(worked, "perfetto", tmp_path / "t.json").read_text())["traceEvents"]
    rows = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and "stream" in e["args"]["name"]}
    assert sorted(rows.values()) == ["cuda:0 stream 0", "cuda:0 stream 1", "cuda:0 stream 1 (2)", "cuda:1 unknown stream"]
    slices = {name: [] for name in rows.values()}
    for event in events:
        if event["ph"] == "X" and event["tid"] in rows:
            slices[rows[event["tid"]]].append((round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)))
    assert sorted(slices["cuda:0 stream 1"]) == [(500, 900), (950, 960)]
    assert slices["cuda:0 stream 1 (2)"] == [(600, 700)]


def test_a_window_has_the_gpus_work_of_its_time(trace, tmp_path):
    worked, window = tmp_path / "worked.dcmt", tmp_path / "window.dcmt"
    shutil.copy(trace, worked)
    with contextlib.closing(sqlite3.connect(worked)) as database, database:
        database.execute(
            "INSERT INTO gpu_work(gpu, from_ns, to_ns, kind, graph)"
            " SELECT 0, (from_ns + to_ns) / 2, (from_ns + to_ns) / 2 + 1, 'kernel', 0 FROM interval"
        )
    assert recorded.tool("trim", worked, "--from", "step:10", "--to", "step:12", "-o", window).returncode == 0
    assert recorded.query(window, "SELECT count(*) FROM gpu_work") == [(3,)], "one in each step"


def test_csv_has_every_lifetime_and_the_curve(trace, tmp_path):
    rows = rows_of(converted(trace, "csv", tmp_path / "lifetimes.csv"))
    got = [(int(r["block"]), r["device"], int(r["bytes"]), int(r["from_seq"]), int(r["from_ns"]),
            int(r["to_seq"]) if r["to_seq"] else None, int(r["to_ns"]) if r["to_ns"] else None) for r in rows]
    assert got == recorded.query(trace, "SELECT id, device, bytes, from_seq, from_ns, to_seq, to_ns FROM block ORDER BY id")
    assert any(row["holder"].startswith("main.losses") for row in rows)
    assert {row["phase"] for row in rows} >= {"forward", "backward"}
    curve = rows_of(converted(trace, "csv", tmp_path / "curve.csv", "--table", "curve"))
    assert [(int(r["seq"]), int(r["ns"]), int(r["allocated_bytes"])) for r in curve] == curve_of(trace, "cpu")
    (report,) = recorded.report(trace)
    assert max(int(row["allocated_bytes"]) for row in curve) == report["peak"]["bytes"]


def test_csv_has_waits_of_streams(gpu_trace, tmp_path):
    source, _ = gpu_trace
    rows = rows_of(converted(source, "csv", tmp_path / "lifetimes.csv"))
    done = {int(row["block"]): int(row["done_seq"]) for row in rows if row["done_seq"]}
    assert done and done == dict(recorded.query(source, "SELECT id, done_seq FROM block WHERE done_seq IS NOT NULL"))


PYTHON = recorded.python_with("pyarrow.parquet")


@pytest.mark.skipif(PYTHON is None, reason="no Python here has pyarrow")
def test_parquet_has_what_csv_has(trace, tmp_path):
    path = converted(trace, "parquet", tmp_path / "t.parquet", "--python", PYTHON)
    program = "import json, sys, pyarrow.parquet as p; print(json.dumps(p.read_table(sys.argv[1]).to_pylist()))"
    done = subprocess.run([PYTHON, "-I", "-c", program, str(path)], capture_output=True, text=True, check=True)
    expected = [{key: value or None for key, value in row.items()} for row in
                rows_of(converted(trace, "csv", tmp_path / "t.csv"))]
    got = [{key: None if value is None else str(value) for key, value in row.items()} for row in json.loads(done.stdout)]
    assert got == expected


def test_a_python_without_pyarrow_is_named(trace, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho \"No module named 'pyarrow'\" >&2\nexit 1\n")
    python.chmod(0o755)
    result = recorded.tool("convert", trace, "--to", "parquet", "-o", tmp_path / "t.parquet", "--python", python)
    line = recorded.one_line(result, 4)
    assert "has no pyarrow" in line and "--python" in line
    assert not (tmp_path / "t.parquet").exists()


def test_nothing_is_replaced_without_being_asked(trace, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("mine")
    line = recorded.one_line(recorded.tool("convert", trace, "--to", "csv", "-o", path), 3)
    assert "exists already" in line and "--force" in line
    assert path.read_text() == "mine"
    converted(trace, "csv", path, "--force")
    assert path.read_text().startswith("block,")


def test_what_fails_leaves_no_file(tmp_path):
    damaged = tmp_path / "x.dcmt"
    damaged.write_bytes(b"no trace")
    recorded.one_line(recorded.tool("convert", damaged, "--to", "csv", "-o", tmp_path / "t.csv"), 3)
    assert [path.name for path in tmp_path.iterdir()] == ["x.dcmt"]
    result = recorded.tool("convert", damaged, "--to", "nothing", "-o", tmp_path / "t")
    assert result.returncode == 2


def test_what_cannot_be_a_source_or_a_target_is_said(trace, tmp_path):
    source = tmp_path / "source.dcmt"
    shutil.copy(trace, source)
    before = source.read_bytes()
    for flags in ((), ("--redact", "--force")):
        line = recorded.one_line(recorded.tool("convert", source, "--to", "trace", "-o", source, *flags), 2)
        assert "is the file that is read" in line
    assert source.read_bytes() == before
    missing = recorded.tool("convert", tmp_path / "missing.pickle", "--to", "trace", "-o", tmp_path / "t.dcmt")
    assert "missing.pickle" in recorded.one_line(missing, 3)
    assert "--redact" in recorded.one_line(recorded.tool("convert", source, "--to", "trace", "-o", tmp_path / "t.dcmt"), 2)
    folder = recorded.tool("convert", source, "--to", "csv", "-o", tmp_path)
    assert "is a folder" in recorded.one_line(folder, 3)
    no_table = recorded.tool("convert", source, "--to", "perfetto", "--table", "curve", "-o", tmp_path / "t.json")
    assert "--table" in recorded.one_line(no_table, 2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is not replaced" in recorded.one_line(recorded.tool("convert", source, "--to", "csv", "--force", "-o", pipe), 3)
    assert pipe.is_fifo()


def test_foreign_text_stays_a_field(tmp_path):
    """Quotes, commas and backslashes of a trace are text in each format."""
    allocator = Allocator(8)
    odd = 'a"b,c\\d\n=1+1'
    for frames in allocator.frames.values():
        frames[0]["name"] = odd
    allocator.run(50)
    source = tmp_path / "s.pickle"
    source.write_bytes(pickle.dumps(snapshot(allocator)))
    shown = 'a"b,c\\d\\x0a=1+1'
    rows = list(csv.DictReader(io.StringIO(converted(source, "csv", tmp_path / "t.csv").read_text())))
    assert all(row["site"].endswith(shown) for row in rows if row["site"])
    events = json.loads(converted(source, "perfetto", tmp_path / "t.json").read_text())["traceEvents"]
    assert any(event["name"].endswith(shown) for event in events if event["ph"] == "b")
    data = pickle.loads(converted(source, "snapshot", tmp_path / "o.pickle").read_bytes())
    assert any(frame["name"] == shown for entry in data["device_traces"][0] for frame in entry["frames"])
