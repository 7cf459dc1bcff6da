"""Long runs: parts kept in full equal a full recording, other parts have exact sums, and the limit holds."""

from __future__ import annotations

import pathlib

import pytest

import recorded

STEPS = 60
PLANTED = (recorded.SAMPLE, "--eager", "--steps", STEPS)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("full")
    recorded.record(folder, *PLANTED)
    return folder


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("windows") / "out"
    record_windows(folder, "--steps", "7:8,20", "--last", 2)
    return folder


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Two windows far apart, and none at the end."""
    folder = tmp_path_factory.mktemp("sparse") / "out"
    record_windows(folder, "--steps", "10,30", "--last", 0)
    return folder


def record_windows(folder: pathlib.Path, *options: object) -> str:
    result = recorded.tool("run", "-o", folder, *options, "--", recorded.sys.executable, *PLANTED)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_windows_keep_peaks_sums_and_verdicts(full: pathlib.Path, windows: pathlib.Path) -> None:
    (whole,) = recorded.report(full)
    (kept,) = recorded.report(windows)

    by_step = {step["step"]: step for step in kept["steps"]}
    assert list(by_step) == list(range(STEPS))
    # The first three show the planted defect; the others were requested, or are the last ones.
    assert [step for step, row in by_step.items() if row["kept"]] == [0, 1, 2, 7, 8, 20, 58, 59]
    for step in whole["steps"]:
        window = by_step[step["step"]]
        assert (window["begin_bytes"], window["peak_bytes"]) == (step["begin_bytes"], step["peak_bytes"])
        expected = (step["predicted_begin_bytes"], step["predicted_peak_bytes"]) if window["kept"] else (None, None)
        assert (window["predicted_begin_bytes"], window["predicted_peak_bytes"]) == expected

    assert kept["peak"]["bytes"] == whole["peak"]["bytes"]
    assert kept["peak"]["predicted_bytes"] == whole["peak"]["predicted_bytes"]
    (finding,) = kept["findings"]
    (whole_finding,) = whole["findings"]
    assert finding["classes"] == whole_finding["classes"]
    assert finding["holders"]["paths"][0]["names"] == whole_finding["holders"]["paths"][0]["names"]
    assert sum(item["step"] in (0, 1, 2, 7, 8, 20, 58, 59) for item in whole_finding["items"]) == len(finding["items"])
    assert kept["facts"]["residual_releases"] == kept["facts"]["final_releases"] == 12 * STEPS
    assert kept["facts"]["steps"] == STEPS
    assert kept["facts"]["steps_kept"] == 8

    text = recorded.tool("report", windows).stdout
    assert f"8 of {STEPS} steps are kept in full: 3 asked for, 3 for a new finding, 2 at the end" in text
    assert "720 of 720 final releases left bytes alive" in text


def curve(folder: pathlib.Path, *options: object) -> dict:
    shown = recorded.tool("show", "curve", "--json", folder, *options)
    assert shown.returncode == 0, shown.stderr
    (trace,) = recorded.json.loads(shown.stdout)["traces"]
    return trace


def test_the_curve_of_windows_has_every_peak(full: pathlib.Path, windows: pathlib.Path) -> None:
    (kept,) = recorded.report(windows)
    for folder in (full, windows):
        shown = curve(folder)
        assert shown["stored"]
        (device,) = shown["devices"]
        assert device["peak_bytes"] == kept["peak"]["bytes"]
        assert max(row["highest_bytes"] for row in shown["rows"]) == device["peak_bytes"]
        assert device["peak_at"] in [row["highest_at"] for row in shown["rows"]]
        # From the sample's own arithmetic: twelve gathered weights that are not freed, and little else.
        assert 12 * 65 * 4033 * 4 <= device["peak_bytes"] < 13 * 65 * 4033 * 4
    assert all(row["lowest_exact"] for row in curve(full)["rows"])
    assert not all(row["lowest_exact"] for row in curve(windows)["rows"])
    steps = curve(windows, "--from", "step:7", "--to", "step:8")["rows"]
    assert steps[0]["first_step"] <= 7 and steps[-1]["last_step"] >= 8


def test_each_window_opens_with_the_complete_live_set(full: pathlib.Path, sparse: pathlib.Path) -> None:
    def live_at_begin(folder: pathlib.Path, step: int) -> list[tuple]:
        (trace,) = recorded.traces(folder)
        return recorded.query(
            trace,
            "SELECT s.bytes, s.from_seq - (SELECT from_seq FROM interval WHERE step = 0) FROM storage s"
            " JOIN interval i ON i.step = ? WHERE s.from_seq <= i.from_seq AND (s.to_seq IS NULL OR s.to_seq > i.from_seq)"
            " ORDER BY 1, 2",
            step,
        )

    for step in (10, 30):
        sizes = [size for size, _ in live_at_begin(sparse, step)]
        assert sizes == [size for size, _ in live_at_begin(full, step)]


def test_what_lies_between_windows_is_said_to_be_unknown(sparse: pathlib.Path) -> None:
    shown = recorded.tool("show", "live", sparse, "--at", "step:20")
    assert shown.returncode == 2
    assert "was not kept" in shown.stderr and "--at" in shown.stderr
    assert recorded.tool("show", "live", sparse, "--at", "peak").returncode == 0


def test_the_disk_bound_holds(full: pathlib.Path, tmp_path: pathlib.Path) -> None:
    record_windows(tmp_path / "small", "--max-disk", "1MiB")
    (small,) = recorded.traces(tmp_path / "small")
    (whole,) = recorded.traces(full)
    assert small.stat().st_size <= 1024 * 1024 < whole.stat().st_size
    (kept,) = recorded.report(tmp_path / "small")
    assert kept["facts"]["steps"] == STEPS
    assert 0 < kept["facts"]["steps_kept"] < STEPS
    assert kept["facts"]["lost"] == 0


@pytest.mark.parametrize("steps", ["6:3", "x", "3:", "-1", "1:2:3"])
def test_steps_that_are_none(steps: str, tmp_path: pathlib.Path) -> None:
    result = recorded.tool("run", "-o", tmp_path / "out", "--steps", steps, "--", "true")
    assert result.returncode == 2
    assert "--steps" in result.stderr
