"""`show reserved` of runs recorded on a GPU (tests/gpu/make_allocator_fixture.py): the rows are what torch counted, the
model of its allocator follows each event, and predictions are what the same program reserved under other settings."""

from __future__ import annotations

import json
import statistics
import tarfile

import pytest
import recorded

RUNS = recorded.ROOT / "tests" / "testdata" / "allocator_runs.tar.xz"
FRAGMENTED = recorded.ROOT / "tests" / "testdata" / "fragmented_runs.tar.xz"
# The recorded settings beside the default ones, as in the names of the runs.
SETTINGS = {
    "expandable": "expandable_segments:True",
    "split64": "max_split_size_mb:64",
    "split200": "max_split_size_mb:200",
    "round4": "roundup_power2_divisions:4",
    "rounds": "roundup_power2_divisions:[16:8,64:4,256:2,>:1]",
    "gc": "garbage_collection_threshold:0.5,per_process_memory_fraction:0.03",
    "segment64": "large_segment_size_mb:64",
    "expround": "expandable_segments:True,roundup_power2_divisions:8",
}
PREDICTED = ("sizes", "growing_shapes", "training", "cache", "checkpointed", "pinned_between", "many_small")
# Its program changes the limit while it runs, which is not recorded: collections depend on it.
NOT_FOLLOWED = {"mixb-gc"}
# The program sets a limit in the middle, and lifts it.
LIMIT_CHANGED = {"mixa-default", "mixa-expandable", "mixa-split64"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    with tarfile.open(RUNS) as tar:
        tar.extractall(folder)
    return folder


def reserved(trace, *options):
    result = recorded.tool("show", "reserved", "--json", trace, *options)
    assert result.returncode == 0, result.stderr
    (view,) = json.loads(result.stdout)["traces"]
    return view


def test_rows_are_what_torch_counted_and_the_model_follows_every_event(runs):
    traces = sorted(runs.glob("*.dcmt"))
    assert len(traces) > 20
    followed = events = 0
    for trace in traces:
        view = reserved(trace)
        peak = max(mark["reserved_peak"] for mark in json.loads(trace.with_suffix(".json").read_text())["marks"])
        assert sum(row["bytes"] for row in view["rows"]) == view["reserved_bytes"] == view["counted_bytes"] == peak, trace
        model = view["model"]
        if trace.stem in NOT_FOLLOWED:
            assert "does not follow" in view["not_modelled"], trace
            continue
        assert (model["equal"], model["placed"]) == (model["events"], model["requests"]), trace
        assert model["first_difference"] is None, trace
        if trace.stem in LIMIT_CHANGED:
            assert view["not_modelled"].startswith("the limit of the process changed"), trace
        else:
            assert view["not_modelled"] is None, trace
        followed += 1
        events += model["events"]
    assert followed == len(traces) - len(NOT_FOLLOWED)
    assert events > 20_000


def test_rows_at_a_mark_are_torchs_counters_there(runs):
    for name in ("default-streams", "default-graphs", "default-mem_pools", "default-emptied"):
        trace = runs / f"{name}.dcmt"
        said = json.loads(trace.with_suffix(".json").read_text())
        last = said["marks"][-1]
        view = reserved(trace, "--at", "end")
        rows = {kind: sum(row["bytes"] for row in view["rows"] if row["kind"] == kind) for kind in
                ("requested", "rounding", "waiting", "kept", "other stream", "private pool", "releasable")}
        assert view["reserved_bytes"] == last["reserved_bytes"] == sum(rows.values()), name
        assert rows["requested"] + rows["rounding"] == last["allocated_bytes"], name
        assert rows["requested"] + rows["rounding"] + rows["waiting"] == last["active_bytes"], name
        private = sum(each["total_size"] - each["active_size"] for each in said["segments"]
                      if tuple(each["segment_pool_id"]) != (0, 0))
        assert rows["private pool"] == private, name
        free = {each["stream"] for each in said["segments"] if each["active_size"] == 0}
        assert bool(rows["releasable"] + sum(row["releasable_bytes"] for row in view["rows"])) >= (free == {0}), name


def test_predictions_are_what_the_same_program_reserved(runs):
    peaks = json.loads((runs / "peaks.json").read_text())
    options = [part for settings in SETTINGS.values() for part in ("--if", settings)]
    errors = []
    for program in PREDICTED:
        view = reserved(runs / f"default-{program}.dcmt", *options)
        for name, predicted in zip(SETTINGS, view["predictions"], strict=True):
            measured = peaks[f"{name}-{program}"]
            errors.append(abs(predicted["reserved_peak_bytes"] - measured) / measured)
            assert not predicted["runs_out"], (program, name)
            # A setting without an effect: the measured peak is that of the run without it.
            if predicted["idle"] and "," not in SETTINGS[name]:
                assert measured == peaks[f"default-{program}"], (program, name)
    errors.sort()
    assert statistics.median(errors) <= 0.01
    assert errors[int(0.95 * len(errors))] <= 0.03


def report(trace):
    result = recorded.tool("report", "--json", trace)
    assert result.returncode == 0, result.stderr
    (view,) = json.loads(result.stdout)["traces"]
    return view


def test_what_a_finding_promises_is_what_the_setting_gave(runs):
    peaks = json.loads((runs / "peaks.json").read_text())
    compared = 0
    for program in PREDICTED:
        found = [each["fragmentation"] for each in report(runs / f"default-{program}.dcmt")["findings"]
                 if each["rule"] == "fragmented"]
        had = peaks[f"default-{program}"]
        measured = {settings: peaks[f"{name}-{program}"] for name, settings in SETTINGS.items()
                    if "," not in settings or name == "expround"}
        # Without a finding, none of these settings gave enough to matter.
        if not found:
            assert all(had - each < max(64 << 20, 0.2 * had) * 1.03 for each in measured.values()), program
            continue
        assert found[0]["not_predicted"] is None, program
        for remedy in found[0]["remedies"]:
            if remedy["settings"] not in measured:
                continue
            compared += 1
            assert remedy["reserved_peak_bytes"] == pytest.approx(measured[remedy["settings"]], rel=0.03), (program, remedy)
    assert compared > 0


def test_what_a_finding_promises_on_a_gpu_is_what_the_change_gave(tmp_path):
    """tests/programs/cuda_fragmented.py on an H200, each kind recorded once, then run with each change."""
    with tarfile.open(FRAGMENTED) as tar:
        tar.extractall(tmp_path)
    best = {"longer": "setting", "left": "setting", "between": "own pool", "alternates": "one stream"}
    compared = 0
    for kind, measured in json.loads((tmp_path / "peaks.json").read_text()).items():
        found = [each["fragmentation"] for each in report(tmp_path / f"{kind}.dcmt")["findings"]
                 if each["rule"] == "fragmented"]
        had = measured["recorded"]
        if kind not in best:
            assert not found, kind
            assert all(had - each < max(64 << 20, had / 5) for each in measured.values()), kind
            continue
        remedies = found[0]["remedies"]
        assert (remedies[0]["kind"], remedies[0]["helps"]) == (best[kind], True), kind
        for remedy in remedies:
            change = remedy["settings"] if remedy["kind"] == "setting" else "changed" if remedy is remedies[0] else None
            if change not in measured:
                continue
            compared += 1
            assert remedy["reserved_peak_bytes"] == measured[change], (kind, remedy)
            assert remedy["gives_back_bytes"] == had - measured[change]
        if kind == "between":
            assert remedies[0]["change"].endswith("cuda_fragmented.py:25 small")
            assert found[0]["kept"][0]["largest"][0]["site"].endswith("cuda_fragmented.py:25 small")
    assert compared >= 20


def test_a_prediction_under_the_recorded_settings_is_the_record(runs):
    for name in ("round4-many_small", "rounds-sizes", "split64-sizes", "expandable-training", "split200-growing_shapes"):
        view = reserved(runs / f"{name}.dcmt", "--if", SETTINGS[name.split("-")[0]])
        assert view["predictions"][0]["reserved_peak_bytes"] == view["reserved_peak_bytes"], name


def test_why_a_setting_has_no_effect_is_said(runs):
    text = recorded.tool("show", "reserved", runs / "default-sizes.dcmt", "--if", "garbage_collection_threshold:0.6").stdout
    assert "garbage_collection_threshold:0.6 has no effect on this run: torch collects only where a memory fraction" in text
    wrong = recorded.tool("show", "reserved", runs / "default-sizes.dcmt", "--if", "max_split_size_mb:8")
    assert wrong.returncode == 2
    assert "'max_split_size_mb:8': must be more than 20" in wrong.stderr


def test_at_an_out_of_memory_error_the_rows_are_torchs_count(runs):
    view = reserved(runs / "full-default.dcmt", "--at", "oom")
    assert sum(row["bytes"] for row in view["rows"]) == view["counted_bytes"]
    assert not [row for row in view["rows"] if row["kind"] == "releasable"], "torch has given back what it could"
    assert view["kept"] and all(segment["largest"] for segment in view["kept"])
