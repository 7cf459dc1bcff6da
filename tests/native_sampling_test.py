"""What --native says is alive of a place, and its interval of 95 %, beside the place's own count: of 240 places a run."""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess

import pytest
import recorded

MIB = 1 << 20
PROGRAM = recorded.PROGRAMS / "native_places.py"
RUNS = 10 if recorded.ALL else 1
# The sampling interval ends at 64, 32 and 256 KiB: with this much of each place there are few samples, some and many.
SIZES = [2 * MIB, *(pytest.param(size, marks=recorded.for_soak) for size in (400_000, 15 * MIB))]


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> pathlib.Path:
    built = tmp_path_factory.mktemp("native") / "libplaces.so"
    source = recorded.PROGRAMS / "native_places.cpp"
    subprocess.run(["c++", "-O1", "-g", "-shared", "-fPIC", "-o", built, source], check=True, timeout=120)
    return built


def places(folder: pathlib.Path, library: pathlib.Path, seed: int, size: int) -> list[tuple[int, dict]]:
    """What each place keeps, and what is said of it. A place of which hardly anything was sampled has no row."""
    job = recorded.record(folder, PROGRAM, library, seed, size, flags=("--native",))
    kept = dict(each.split("=") for each in job.stdout.split())
    (view,) = json.loads(recorded.tool("show", "native", folder, "--json").stdout)["traces"]
    said = {each["place"]["function"]: each["live"] for each in view["places"]}
    return [(int(true), said[name]) for name, true in kept.items() if name in said]


@pytest.mark.parametrize("size", SIZES)
def test_what_is_alive_is_within_its_interval_as_often_as_said(tmp_path, library, size):
    of_all = [each for seed in range(RUNS) for each in places(tmp_path / str(seed), library, seed, size)]
    assert len(of_all) > 0.9 * 240 * RUNS
    inside = statistics.fmean(live["low_bytes"] <= true <= live["high_bytes"] for true, live in of_all)
    print(f"{inside:.1%} of {len(of_all)} places are within their interval of 95 %")
    error = (0.95 * 0.05 / len(of_all)) ** 0.5  # 1.4 % in one run, 0.4 % in ten
    assert 0.95 - 4 * error < inside < 0.97 + 4 * error
    assert sum(live["bytes"] for _, live in of_all) == pytest.approx(sum(true for true, _ in of_all), rel=0.05)
