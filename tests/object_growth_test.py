"""Python objects that grow are named, with their bytes; programs that let go have no finding."""

from __future__ import annotations

import pathlib

import object_growth
import pytest
import recorded

FAST = {"list_of_dicts", "logging_handler", "attribute_of_objects_in_a_list"}
FAST_HEALTHY = {"list_of_dicts", "lru_cache_by_argument"}
FAST_BOUNDED = {"cache_that_fills"}


def cases(all_of, fast):
    return [pytest.param(case, id=case.name, marks=() if case.name in fast else recorded.for_soak) for case in all_of]


def written(folder: pathlib.Path, case: object_growth.Case, **how) -> pathlib.Path:
    for name, text in case.files:
        (folder / name).write_text(text)
    program = folder / "program.py"
    program.write_text(case.program(**how))
    return program


def findings(folder: pathlib.Path, case: object_growth.Case, **how) -> list[dict]:
    recorded.record(folder / "out", written(folder, case, **how))
    (report,) = recorded.report(max(recorded.traces(folder / "out"), key=lambda path: path.stat().st_size))
    return report["findings"]


def counted(folder: pathlib.Path, case: object_growth.Case, entries: int) -> float:
    """Bytes of an entry by tracemalloc, in a run that ends with so many entries."""
    result = recorded.python(written(folder, case), entries)
    assert result.returncode == 0, result.stderr
    size, counted_entries = result.stdout.split()
    return int(size) / int(counted_entries)


def expect(found: list[dict], case: object_growth.Case, unit: str) -> dict:
    (finding,) = found
    assert finding["rule"] == "grows_objects" and finding["confidence"] == "certain"
    growth = finding["objects"]
    assert growth["holder"] == case.holder and growth["unit"] == unit
    assert case.entry_type in (None, growth["entry_type"]) and growth["entries"] > growth["entries_before"]
    assert not case.statement or any(case.statement in each["text"] for each in growth["stored_by"]), growth["stored_by"]
    return growth


@pytest.mark.parametrize("case", cases(object_growth.CASES, FAST))
def test_what_grows_is_named_with_its_bytes(tmp_path, case):
    growth = expect(findings(tmp_path, case), case, "step")
    each = growth["bytes"] / growth["entries"]
    expected = counted(tmp_path, case, growth["entries"])
    assert expected / 2 < each < expected if case.is_shared else each == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("case", cases(object_growth.CASES, set()))
def test_the_same_without_steps(tmp_path, case):
    growth = expect(findings(tmp_path, case, train=False), case, "second")
    assert growth["per_round_bytes"] > 4096


@pytest.mark.parametrize("case", cases(object_growth.CASES, FAST_HEALTHY))
def test_the_twin_that_lets_go_is_silent(tmp_path, case):
    assert findings(tmp_path, case, healthy=True) == []


@pytest.mark.parametrize("case", cases(object_growth.BOUNDED, FAST_BOUNDED))
@pytest.mark.parametrize("train", [True, pytest.param(False, marks=recorded.for_soak)])
def test_what_fills_up_and_stops_is_silent(tmp_path, case, train):
    assert findings(tmp_path, case, healthy=True, train=train) == []
