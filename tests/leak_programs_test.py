"""Generated programs (`leak_programs.py`): the first finding names what keeps a leak; a healthy program has none."""

from __future__ import annotations

import check_leaks
import leak_programs
import pytest

SEEDS = (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_finding_names_what_keeps_a_generated_leak(seed, tmp_path):
    truth = leak_programs.write(tmp_path, seed)
    findings = check_leaks.record(tmp_path, "leak")["findings"]
    if truth.healthy:
        assert findings == [], truth
    else:
        assert findings and check_leaks.names(findings[0], truth), (truth, [check_leaks.holder_of(each) for each in findings])


def test_the_seeds_have_healthy_programs_and_leaks():
    """And each kind of a leak is one of the first 400 seeds'."""
    healthy = [leak_programs.program(seed)[1].healthy for seed in SEEDS]
    assert any(healthy) and not all(healthy)
    kinds = {leak_programs.program(seed)[1].kind for seed in range(1, 401)}
    assert kinds == {*leak_programs.LEAKS, *leak_programs.HEALTHY}
