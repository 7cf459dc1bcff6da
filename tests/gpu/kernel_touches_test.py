"""Kernels that get a released storage and that no operator shows; and torch's own profiler beside the tool."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "late_kernel.py"
STEPS = 3


def run(folder, *options: str, detail: str = "lifetimes"):
    """Records the program; its line, and its releases in order."""
    done = recorded.record(folder, PROGRAM, "--steps", STEPS, *options, detail=detail, timeout=400)
    releases = recorded.releases(folder)
    assert len(releases) == STEPS and all(release["final"] for release in releases)
    return json.loads(done.stdout.splitlines()[-1]), releases


def readers(release) -> list[tuple[bool, str]]:
    return [(read["by_kernel"], read["name"]) for read in release["reads"]]


def launches_after_the_release(releases, detail: str = "lifetimes") -> list[dict]:
    """The launches after the releases of all steps but the first. The tool observes
    launches after the first release that leaves bytes."""
    first, *others = [release["launches"] for release in releases]
    assert first["all_the_time"] == (detail == "full"), "in full it observes from the first gather on"
    assert all(launches["all_the_time"] for launches in others)
    return others


@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_a_late_kernel_is_found_with_its_name(detail, tmp_path):
    _, releases = run(tmp_path / "run", "--kernel", detail=detail)
    assert [readers(release) for release in releases] == [[(True, "late_read")]] * STEPS
    assert {release["verdict"] for release in releases} == {"early"}
    assert [launches["seen"] for launches in launches_after_the_release(releases, detail)] == [2] * (STEPS - 1)
    if detail == "full":
        assert all("reduce" in release["last_touch"]["kernel"] for release in releases), "the sum before the release"
        assert {release["last_touch"]["launches"] for release in releases} == {1}
    (trace,) = recorded.report(tmp_path / "run")
    (finding,) = trace["findings"]
    assert finding["classes"] == ["D24"] and finding["confidence"] == "partial"
    assert (finding["reads_after_release"], finding["kernel_reads_after_release"]) == (0, STEPS)
    assert any(frame["function"] == "main" for frame in finding["items"][0]["reads"][0]["by"]["stack"])


def test_without_it_nothing_reads_and_the_report_says_how_much_was_seen(tmp_path):
    _, releases = run(tmp_path / "run", "--graph")
    assert [readers(release) for release in releases] == [[]] * STEPS
    assert {release["verdict"] for release in releases} == {"late"}
    for launches in launches_after_the_release(releases):
        assert (launches["seen"], launches["graphs"]) == (2, 1)
        assert launches["nccl"] == launches["unknown"] == launches["copies"] == 0
    (trace,) = recorded.report(tmp_path / "run")
    assert [finding["classes"] for finding in trace["findings"]] == [["D19"]]
    text = recorded.tool("report", tmp_path / "run").stdout
    assert "none seen in" in text and "2 launches, 1 opaque (1 graph)" in text


def test_an_operator_and_its_kernel_are_counted_apart(tmp_path):
    _, releases = run(tmp_path / "run", "--operator")
    for release in releases:
        by_operator = [name for by_kernel, name in readers(release) if not by_kernel]
        by_kernel = [name for by_kernel, name in readers(release) if by_kernel]
        assert by_operator == ["aten::add"]
        assert len(by_kernel) == 1 and "at::native" in by_kernel[0], "demangled"


def test_a_kernel_of_a_compiled_graph_is_found(tmp_path):
    _, releases = run(tmp_path / "run", "--compiled")
    for release in releases:
        assert any(by_kernel and name.startswith("triton_") for by_kernel, name in readers(release))


def test_an_address_that_an_operator_of_torch_was_not_given_is_left_over(tmp_path):
    """Its kernels have room for more than they use, and there is what was on the stack before (docs/decisions/gpu.md)."""
    _, releases = run(tmp_path / "aten", "--inside", "aten")
    assert [readers(release) for release in releases] == [[]] * STEPS
    assert {release["verdict"] for release in releases} == {"late"}
    _, releases = run(tmp_path / "mine", "--inside", "mine")
    assert [readers(release) for release in releases] == [[(True, "late_read")]] * STEPS


def test_a_copy_past_torch_is_found(tmp_path):
    printed, releases = run(tmp_path / "run", "--copy")
    assert printed["copied"] == sum(range(1, STEPS + 1))
    for release in releases:
        ((by_kernel, name),) = readers(release)
        assert by_kernel and name.startswith("cuMemcpy")


def test_a_release_in_a_graphs_capture_does_not_end_the_capture(tmp_path):
    """The tool subscribes to CUPTI and asks for parameters there, where CUDA forbids much."""
    recorded.record(tmp_path / "run", PROGRAM, "--capture", "--kernel", timeout=400)
    first, *others = recorded.releases(tmp_path / "run")
    assert readers(first) == [(True, "late_read")], "where it is captured"
    assert [readers(release) for release in others] == [[(True, "late_read")]] * STEPS


@pytest.mark.parametrize("profiled", [0, 1])
def test_torchs_profiler_sees_what_it_sees_without_the_tool(profiled, tmp_path):
    options = ("--kernel", "--profile", str(profiled))
    plain = recorded.python(PROGRAM, "--steps", STEPS, *options)
    assert plain.returncode == 0, plain.stderr
    expected = json.loads(plain.stdout.splitlines()[-1])
    assert "late_read" in expected["profiled"]
    printed, releases = run(tmp_path / "run", *options)
    assert printed == expected
    # It subscribed first, or instead of the tool; it never unsubscribes.
    assert [bool(readers(release)) for release in releases] == [step < profiled for step in range(STEPS)]
    (trace,) = recorded.traces(tmp_path / "run")
    ((text,),) = recorded.query(
        trace, "SELECT s.text FROM diagnostic d JOIN string s ON s.id = d.text WHERE d.code = 'provider_off'"
    )
    assert "another CUPTI user" in text
