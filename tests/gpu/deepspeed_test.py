"""Real DeepSpeed, ZeRO-3 with DeepCompile on two GPUs: the defect of 0.19.1, its fix in 0.19.2, the peak foretold.

DCMT_DEEPSPEED_WHEELS names a folder with the wheels (samples/deepspeed/README.md).
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest
import recorded

SAMPLE = recorded.ROOT / "samples" / "deepspeed"
sys.path.insert(0, str(SAMPLE))

import variants  # noqa: E402

WHEELS = os.environ.get("DCMT_DEEPSPEED_WHEELS")
pytestmark = [
    pytest.mark.multigpu,
    pytest.mark.skipif(WHEELS is None, reason="DCMT_DEEPSPEED_WHEELS is not set: samples/deepspeed/README.md"),
]
STEPS = 3
VARIANTS = ("0.19.1", "0.19.1-logged", "0.19.2", "0.19.2-unresized")


class Run:
    """Two ranks of the sample, recorded or not, beside others."""

    def __init__(self, folder: pathlib.Path, variant: str, recorded_as: str | None, *arguments: object) -> None:
        name = f"{variant}-{recorded_as or 'plain'}{''.join(map(str, arguments))}"
        self.out = folder / name
        self.log = folder / f"{name}-releases"
        prefix = [recorded.TOOL, "run", "-q", "-o", self.out, "--detail", recorded_as, "--"] if recorded_as else []
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
                   "--rdzv-endpoint", "localhost:0", SAMPLE / "train.py", "--steps", STEPS, *arguments]  # fmt: skip
        self.process = subprocess.Popen(
            [str(part) for part in [*prefix, *command]],
            env={**variants.environment(folder, variant), "DC_RELEASE_LOG": str(self.log)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self) -> Run:
        output, errors = self.process.communicate(timeout=400)
        assert self.process.returncode == 0, errors[-5000:]
        self.printed = json.loads([line for line in output.splitlines() if line.startswith('{"losses"')][-1])
        return self

    def report(self, rank: int) -> dict:
        (seen,) = recorded.report(self.out / f"rank{rank}.dcmt")
        return seen


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("deepspeed")
    variants.prepare(pathlib.Path(WHEELS), folder, list(VARIANTS))
    started = {variant: Run(folder, variant, "lifetimes") for variant in VARIANTS}
    started["plain"] = Run(folder, "0.19.1", None)
    return {name: run.wait() for name, run in started.items()}


def releases(run: Run, rank: int) -> list[dict]:
    result = recorded.tool("show", "releases", "--json", run.out / f"rank{rank}.dcmt")
    assert result.returncode == 0, result.stderr
    (trace,) = json.loads(result.stdout)["traces"]
    return trace["releases"]


def residual_ids(run: Run, rank: int) -> list[tuple[int, int]]:
    """(id, how many times it was finally released before) of every release that left bytes."""
    seen: collections.Counter[int] = collections.Counter()
    ids = []
    for release in releases(run, rank):
        if not release["final"] or release["persistent"]:
            continue
        key = release["key"]["key"]
        if release["residual"]:
            ids.append((key, seen[key]))
        seen[key] += 1
    return ids


def logged_ids(run: Run, rank: int) -> list[tuple[int, int]]:
    """The same, by what the executor itself saw: other references to a storage with bytes."""
    seen: collections.Counter[int] = collections.Counter()
    ids = []
    for line in pathlib.Path(f"{run.log}.{rank}").read_text().splitlines():
        key, references, size = map(int, line.split())
        if references > 0 and size > 0:
            ids.append((key, seen[key]))
        seen[key] += 1
    return ids


@pytest.mark.parametrize("rank", [0, 1])
def test_residual_ids_are_those_that_the_executor_logs(runs, rank):
    logged = logged_ids(runs["0.19.1-logged"], rank)
    assert logged
    assert sorted(residual_ids(runs["0.19.1-logged"], rank)) == sorted(logged)
    assert sorted(residual_ids(runs["0.19.1"], rank)) == sorted(logged)


def test_the_holder_is_the_local_of_the_generated_code(runs):
    residual = [finding for finding in runs["0.19.1"].report(0)["findings"] if "D19" in finding["classes"]]
    assert residual
    for finding in residual:
        for item in finding["items"]:
            (path, *_) = item["holders"]["paths"]
            assert path["function"] == "Runner.call"
            assert path["generated"]
            assert all(name["line"] is not None and name["delete_line"] is None for name in path["names"])
            assert all(count["unexplained"] == 0 for count in item["holders"]["counts"])


def test_the_fix_leaves_nothing(runs):
    for rank in (0, 1):
        assert residual_ids(runs["0.19.2"], rank) == []
        assert [f for f in runs["0.19.2"].report(rank)["findings"] if "D19" in f["classes"]] == []


def test_the_peak_without_them_is_foretold(runs):
    for rank in (0, 1):
        foretold = runs["0.19.2-unresized"].report(rank)["peak"]["predicted_bytes"]
        measured = runs["0.19.2"].report(rank)["peak"]["bytes"]
        assert foretold < runs["0.19.2-unresized"].report(rank)["peak"]["bytes"]
        assert measured == pytest.approx(foretold, rel=0.001)


def test_numbers_and_peaks_are_the_jobs_own(runs):
    assert {tuple(run.printed["losses"]) for run in runs.values()} == {tuple(runs["plain"].printed["losses"])}
    assert runs["0.19.1"].printed["peaks"] == runs["plain"].printed["peaks"]
    for variant in VARIANTS:
        assert runs[variant].report(0)["peak"]["bytes"] == max(runs[variant].printed["peaks"])
