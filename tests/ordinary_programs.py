"""Ten ordinary programs: healthy, they have no finding; with one tensor kept in each step, the first finding is that one.

Run by scripts/soak where DCMT_ORDINARY_PYTHON is a Python that has what they need (ordinary/requirements.txt). Which of the
twelve ways each of them leaks is drawn by DCMT_SEED (printed); DCMT_ORDINARY_DRAWS is how many ways of each (1).
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import sys

import pytest
import recorded

FOLDER = recorded.ROOT / "tests" / "ordinary"
sys.path.insert(0, str(FOLDER))
import leaks  # noqa: E402

PYTHON = os.environ["DCMT_ORDINARY_PYTHON"]
SEED = int(os.environ.get("DCMT_SEED") or random.randrange(1 << 32))
DRAWS = int(os.environ.get("DCMT_ORDINARY_DRAWS", "1"))
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("counts", "leaks"))
COUNTED = ("parameter", "optimizer state")


def record(folder: pathlib.Path, program: str, *way: str) -> tuple[dict, dict]:
    """The report of the process that trained, and the program's own count of its bytes."""
    result = recorded.tool("run", "-o", folder, "--", PYTHON, "-W", "ignore", FOLDER / f"{program}.py", *way, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    trained = max(recorded.report(folder), key=lambda trace: trace["peak"]["bytes"])
    return trained, json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_healthy_program_has_no_finding_and_its_peak_is_explained(program, tmp_path):
    report, counted = record(tmp_path / "out", program)
    assert [finding["growth"] for finding in report["findings"]] == []
    groups = {group["name"]: group["bytes"] for group in report["peak"]["by_category"]}
    peak = report["peak"]["bytes"]
    print(program, peak, groups)
    for name in COUNTED:
        assert abs(groups.get(name, 0) - counted[name]) <= 0.01 * peak, name
    assert groups.get("not attributed", 0) <= 0.01 * peak


def draws() -> list[tuple[str, str]]:
    draw = random.Random(SEED)
    return [(program, way) for program in PROGRAMS for way in draw.sample(sorted(leaks.WAYS), DRAWS)]


def test_planted_leaks_are_named_first(tmp_path):
    print(f"seed {SEED}")
    missed = []
    for program, way in draws():
        report, _ = record(tmp_path / f"{program}-{way}", program, way)
        growth = report["findings"][0]["growth"] if report["findings"] else None
        holder = (growth or {}).get("holder", "no finding")
        print(program, way, holder)
        if leaks.HOLDERS[way] not in holder:
            missed.append((program, way, holder))
    assert len(missed) <= len(draws()) // 10, missed
