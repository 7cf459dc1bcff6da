"""The samples zero3_skipped_frame and zero3_offload: what is found in them, completely, and what their peaks are."""

from __future__ import annotations

import recorded

SKIPPED_FRAME = recorded.ROOT / "samples" / "zero3_skipped_frame" / "train.py"
OFFLOAD = recorded.ROOT / "samples" / "zero3_offload" / "train.py"
RANKS = 2
STEPS = 3
BOTH = range(RANKS)


def run(folder, sample, *options: str) -> tuple[str, list[dict]]:
    """The sample's output, and the complete list of findings."""
    done = recorded.tool("run", "-o", folder, "--", recorded.sys.executable, sample, *options)
    assert done.returncode == (1 if "--early" in options else 0), done.stderr
    (seen,) = recorded.report(folder)
    return done.stdout, seen["findings"]


def keys(finding: dict) -> set[tuple[int, int]]:
    return {(item["key"]["graph"], item["key"]["key"]) for item in finding["items"]}


def test_weights_of_a_skipped_frame_are_never_released_and_the_fix_releases_them(tmp_path):
    defect, (finding,) = run(tmp_path / "defect", SKIPPED_FRAME)
    assert finding["classes"] == ["D16"]
    assert keys(finding) == {(graph, id) for graph in BOTH for id in (4, 5, 6, 7)}
    assert finding["bytes"] == RANKS * 366_032
    fixed, findings = run(tmp_path / "fixed", SKIPPED_FRAME, "--fixed")
    assert findings == []
    verdicts = [release["verdict"] for release in recorded.releases(tmp_path / "fixed")]
    # Three units are released after forward and backward, the skipped one once.
    assert verdicts == ["freed"] * (RANKS * STEPS * (3 * 4 * 2 + 4))
    assert defect.replace("366032 B", "0 B") == fixed


def test_weights_of_a_skipped_frame_that_are_released_early_are_read_by_the_backward(tmp_path):
    _, (finding,) = run(tmp_path / "out", SKIPPED_FRAME, "--early")
    assert finding["classes"] == ["D24"]
    assert keys(finding) == {(graph, id) for graph in BOTH for id in (6, 7)}
    for item in finding["items"]:
        assert item["reads"][0]["name"] == "aten::native_layer_norm_backward"
        assert item["release"]["name"] == "dcmt_z3::release_param"


@recorded.for_soak
def test_reloaded_inputs_are_all_there_at_the_peak_of_the_defect(tmp_path):
    peaks = {}
    outputs = set()
    for name, options in (("defect", ()), ("fixed", ("--fixed",))):
        output, findings = run(tmp_path / name, OFFLOAD, *options)
        outputs.add(output)
        assert findings == []
        (trace,) = recorded.traces(tmp_path / name)
        peaks[name] = recorded.peak_of(trace)
    assert len(outputs) == 1
    assert peaks["defect"] - peaks["fixed"] == 7 * 4001 * 64 * 4  # all inputs but the one in use
