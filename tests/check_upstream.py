"""Bugs of libraries, before and after their fix, under `check`: with the fixed side as the baseline, the broken one fails and
its holder is named, and the fixed one passes. Run by scripts/soak where DCMT_UPSTREAM_CASES names the folder of these
programs, with its run.sh; UPSTREAM_PYTHON is a Python that has what they need. DCMT_CHECK_REPEATS: how often (1)."""

from __future__ import annotations

import json
import os
import pathlib

import pytest
import recorded

FOLDER = os.environ["DCMT_UPSTREAM_CASES"]
REPEATS = int(os.environ.get("DCMT_CHECK_REPEATS", "1"))
# A part of the holder's name, or of each that holds it alike: of a traceback Python and the shell.
HOLDERS = {
    "01": ["dataloader_references"], "11": ["Kept"], "13": ["_computed"],
    "17": ["last_traceback", "last_exc", "InteractiveTB.tb"],
    "18": ["generate_anchors"], "19": ["_outputs"],
}  # fmt: skip


def check(folder: pathlib.Path, case: str, side: str, *options: str) -> tuple[int, str]:
    # --workload, because the two sides differ in their arguments.
    result = recorded.tool("check", "--baseline", "case.json", "--workload", case, *options, "--", "bash",
                           pathlib.Path(FOLDER) / "run.sh", case, side, cwd=folder, timeout=900)
    return result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize("case", HOLDERS)
def test_the_broken_side_fails_and_the_fixed_one_passes(case, tmp_path):
    code, said = check(tmp_path, case, "after", "--update")
    assert code == 0, said
    for _ in range(REPEATS):
        code, said = check(tmp_path, case, "before", "--recordings", "1", "--json")
        assert code == 1, said
        (verdict,) = json.loads(said[: said.rindex("}") + 1])["checks"]
        holders = {cause["holder"] for fact in verdict["facts"] if fact["failed"] for cause in fact["causes"]}
        assert any(name in holder for name in HOLDERS[case] for holder in holders), holders
        code, said = check(tmp_path, case, "after")
        assert code == 0, said
