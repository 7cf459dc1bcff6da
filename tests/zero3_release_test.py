"""The story of the main job: twelve gathered weights that outlive their release in a compiled graph, and the fix."""

from __future__ import annotations

import linecache
import re

import pytest
import recorded

LAYERS = 12
STEPS = 3
GATHERED = 65 * 4033 * 4  # float32


@pytest.fixture(scope="module", params=["compiled", "eager"])
def story(request, tmp_path_factory):
    """The reports of the defect and of the fix, with the folders of their runs."""
    folder = tmp_path_factory.mktemp(request.param)
    mode = ["--eager"] if request.param == "eager" else []
    runs = {}
    for name, switch in (("defect", []), ("fixed", ["--fixed"])):
        output = recorded.record(folder / name, recorded.SAMPLE, "--steps", STEPS, *mode, *switch).stdout
        (seen,) = recorded.report(folder / name)
        (trace,) = recorded.traces(folder / name)
        runs[name] = {"report": seen, "trace": trace, "output": output}
    runs["mode"] = request.param
    return runs


def test_every_release_of_the_defect_is_found_once(story):
    (finding,) = story["defect"]["report"]["findings"]
    assert GATHERED == 1_048_580
    assert (finding["keys"], finding["bytes_each"], finding["bytes"]) == (LAYERS, GATHERED, LAYERS * GATHERED)
    assert finding["classes"] == (["D19", "D20"] if story["mode"] == "compiled" else ["D19"])
    assert finding["unexplained"] == 0 and finding["explained"] > 0
    assert finding["confidence"] == "certain"
    releases = recorded.query(
        story["defect"]["trace"], "SELECT key, bytes, bytes_after, bytes_settled, flags FROM release ORDER BY from_seq"
    )
    assert len(releases) == LAYERS * STEPS
    assert {item["release"]["name"] for item in finding["items"]} == {"dcmt_z3::release_param"}
    assert all(row[1:] == (GATHERED, GATHERED, GATHERED, "final,metadata_only") for row in releases)


def test_the_holder_is_named_down_to_the_source_line(story):
    (finding,) = story["defect"]["report"]["findings"]
    path = finding["holders"]["paths"][0]
    for name in path["names"]:
        # Python's own linecache finds this text at that line; it is not the copy in the trace.
        assert linecache.getline(path["file"], name["line"]).strip() == name["assignment"]
        assert name["delete_line"] is None
    if story["mode"] == "compiled":
        assert path["function"] == "Runner.call" and path["generated"]
        assert all(re.fullmatch(r"buf\d+", name["name"]) for name in path["names"])
        assert linecache.getline(path["model_file"], path["model_line"]).strip() == path["model_text"]
        assert path["model_file"].endswith("zero3_release/model.py")
        copied = recorded.query(
            story["defect"]["trace"],
            "SELECT source.text FROM source JOIN string ON string.id = path WHERE string.text = ?",
            path["file"],
        )
        assert copied == [("".join(linecache.getlines(path["file"])),)]
    else:
        assert path["file"].endswith("zero3_release/model.py") and not path["generated"]


def test_nothing_is_found_with_the_fix(story):
    assert story["fixed"]["report"]["findings"] == []
    verdicts = [release["verdict"] for release in recorded.releases(story["fixed"]["trace"])]
    assert verdicts == ["freed"] * (LAYERS * STEPS)


def test_the_predicted_peak_is_the_measured_peak_of_the_fix(story):
    predicted = story["defect"]["report"]["peak"]["predicted_bytes"]
    measured = recorded.peak_of(story["fixed"]["trace"])
    assert story["fixed"]["report"]["peak"]["bytes"] == measured
    assert predicted == measured
    if story["mode"] == "compiled":  # in eager mode the peaks are at other operators
        assert recorded.peak_of(story["defect"]["trace"]) - measured == (LAYERS - 2) * GATHERED


def test_both_runs_compute_the_same(story):
    assert story["defect"]["output"] == story["fixed"]["output"]


def test_counts_are_explained_in_every_census(story):
    samples = recorded.query(story["defect"]["trace"], "SELECT subject, count, explained, unexplained FROM sample")
    assert len(samples) >= 3 * LAYERS * STEPS
    assert all(count == explained and unexplained == 0 for _, count, explained, unexplained in samples)
