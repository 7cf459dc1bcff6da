"""`run --kernels all`: when kernels, copies and fills ran. The reference is torch's own profiler in a run of its own."""

from __future__ import annotations

import json
import sys

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "gpu_work.py"
STEPS = 5


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu_work") / "run"
    command = (sys.executable, PROGRAM, "--steps", STEPS)
    recorded.tool("run", "-q", "--kernels", "all", "-o", folder, "--", *command, check=True)
    return folder


@pytest.fixture(scope="module")
def profiled():
    done = recorded.python(PROGRAM, "--steps", STEPS, "--profile", check=True)
    return json.loads(done.stdout.splitlines()[-1])


def timeline(folder):
    shown = recorded.tool("show", "kernels", folder, "--json", check=True)
    (gpu,) = json.loads(shown.stdout)["traces"][0]["gpus"]
    return gpu


def test_each_kernel_is_there_as_often_as_torchs_profiler_has_it(run, profiled):
    ours = {group["name"]: group for group in timeline(run)["groups"]}
    kernels = {name: seen for name, seen in profiled.items() if not name.startswith(("Memcpy", "Memset"))}
    assert len(kernels) >= 4
    for name, (count, _) in kernels.items():
        # The program makes the first block, and the numbers of the weight, in both; we begin a little earlier.
        assert ours[name]["count"] >= count, name
        assert ours[name]["count"] - count <= 2, name


def test_times_are_those_of_torchs_profiler(run, profiled):
    ours = {group["name"]: group["time_ns"] / 1000 for group in timeline(run)["groups"]}
    longest = max((name for name in profiled if not name.startswith("Mem")), key=lambda name: profiled[name][1])
    assert ours[longest] == pytest.approx(profiled[longest][1], rel=0.3)


def test_places_streams_and_bytes_are_those_of_the_program(run):
    groups = {group["name"]: group for group in timeline(run)["groups"]}
    copy = groups["copy to GPU"]
    assert copy["bytes"] >= STEPS * 1024 * 1024 * 4
    assert len(copy["streams"]) == 2 or copy["streams"] != [0]
    sine = next(group for name, group in groups.items() if "sin_kernel" in name)
    assert sine["count"] == STEPS and sine["streams"] != [0] and len(sine["streams"]) == 1
    assert "gpu_work.py:" in sine["site"] and "work" in sine["site"]
    assert sine["operator"] == "aten::sin_"


def test_perfetto_has_a_lane_for_each_stream_and_its_slices_do_not_overlap(run, tmp_path):
    out = tmp_path / "trace.json"
    (trace,) = run.glob("*.dcmt")
    recorded.tool("convert", trace, "--to", "perfetto", "-o", out, check=True)
    events = json.loads(out.read_text())["traceEvents"]
    lanes = {
        event["tid"]: event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name" and "stream" in event["args"]["name"]
    }
    assert len(lanes) >= 2
    for lane in lanes:
        slices = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["tid"] == lane)
        assert slices
        assert all(end <= begin + 1e-3 for (_, end), (begin, _) in zip(slices, slices[1:]))
    steps = [event for event in events if event["ph"] == "C" and "allocated" in event["name"]]
    first, last = min(e["ts"] for e in steps), max(e["ts"] for e in steps)
    of_gpu = [e["ts"] for e in events if e["ph"] == "X" and e["tid"] in lanes]
    assert first <= max(of_gpu) and min(of_gpu) <= last + 1e6, "they share a clock"
