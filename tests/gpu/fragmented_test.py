"""The finding FRAGMENTED on a GPU: what it proposes, applied, gives what was promised; and whole programs have none."""

from __future__ import annotations

import json

import pytest
import recorded

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "cuda_fragmented.py"
MIB = 1 << 20


def found_in(folder, kind, settings=""):
    env = recorded.environment(PYTORCH_CUDA_ALLOC_CONF=settings) if settings else recorded.environment()
    done = recorded.record(folder, PROGRAM, kind, detail="full", env=env)
    (report,) = recorded.report(folder)
    (finding,) = [each for each in report["findings"] if each["rule"] == "fragmented"] or [None]
    return finding, json.loads(done.stdout.splitlines()[-1])


def reserved_by(kind, *options, settings=""):
    env = recorded.environment(PYTORCH_CUDA_ALLOC_CONF=settings) if settings else recorded.environment()
    done = recorded.python(PROGRAM, kind, *options, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["reserved"]


@pytest.mark.parametrize(("kind", "best"), [("longer", "setting"), ("left", "setting"), ("between", "own pool"),
                                            ("alternates", "one stream")])
def test_the_change_gives_what_was_promised(kind, best, tmp_path):
    finding, counted = found_in(tmp_path / "run", kind)
    assert finding is not None
    found = finding["fragmentation"]
    assert found["not_predicted"] is None and finding["confidence"] == "certain"
    assert sum(row["bytes"] for row in found["rows"]) == found["reserved_bytes"] == counted["reserved"]
    remedy = found["remedies"][0]
    assert (remedy["kind"], remedy["helps"]) == (best, True)
    measured = (reserved_by(kind, settings=remedy["settings"]) if best == "setting" else reserved_by(kind, "--changed"))
    assert remedy["reserved_peak_bytes"] == pytest.approx(measured, rel=0.01, abs=2 * MIB)
    expandable = next(each for each in found["remedies"] if each["change"] == "expandable_segments:True")
    measured = reserved_by(kind, settings="expandable_segments:True")
    assert expandable["reserved_peak_bytes"] == pytest.approx(measured, rel=0.01, abs=2 * MIB)


@pytest.mark.parametrize("kind", ["shorter", "ring", "grows", "steps"])
def test_whole_programs_have_none(kind, tmp_path):
    finding, _ = found_in(tmp_path / "run", kind)
    assert finding is None


def test_a_setting_that_torch_did_not_read_is_named(tmp_path):
    env = recorded.environment(PYTORCH_CUDA_ALLOC_CONFIG="expandable_segments:True")
    recorded.record(tmp_path / "run", PROGRAM, "steps", detail="full", env=env)
    (report,) = recorded.report(tmp_path / "run")
    texts = [each["text"] for each in report["remarks"] if each["kind"] == "setting"]
    assert texts == ["PYTORCH_CUDA_ALLOC_CONFIG=expandable_segments:True had no effect on this run: torch reads no "
                     "variable of this name, but PYTORCH_ALLOC_CONF"]
