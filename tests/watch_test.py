"""`run --watch`: who takes and who drops each reference. The lines are those that the program has marked, the counts those that
the agent has read."""

from __future__ import annotations

import json
import re
import sys

import attached
import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "reference_kinds.py"
LINES = PROGRAM.read_text().splitlines()
LIFE = recorded.PROGRAMS / "watched_life.py"
KEEPING = recorded.PROGRAMS / "kept_references.py"


def line_of(mark: str, program=PROGRAM) -> int:
    (number,) = (number for number, line in enumerate(program.read_text().splitlines(), 1) if re.search(rf"# {mark}$", line))
    return number


def watched(folder, **options):
    return recorded.record(folder, PROGRAM, flags=("--watch", f"{PROGRAM.name}:{line_of('made')}"), **options)


def no_watchpoints(trace) -> str | None:
    said = recorded.query(trace, "SELECT s.text FROM string s JOIN diagnostic d ON s.id = d.text WHERE d.code = 'provider_off'")
    return next((text for (text,) in said if "watchpoint" in text), None)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """The trace, and of each kind the changes of its counts: by how much, and the lines of the program's frames."""
    folder = tmp_path_factory.mktemp("watch") / "out"
    printed = watched(folder).stdout.split()
    (trace,) = recorded.traces(folder)
    if why := no_watchpoints(trace):
        pytest.skip(why)
    storages = recorded.query(trace, "SELECT DISTINCT storage FROM watched_count ORDER BY storage")
    changes = {}
    for kind, (storage,) in zip(printed, storages, strict=True):
        rows = recorded.query(trace, "SELECT after - before, stack FROM reference_change WHERE storage = ?", storage)
        changes[kind] = [(step, [line for file, line in attached.places_of(trace, stack) if file.endswith(PROGRAM.name)])
                         for step, stack in rows]
    return trace, changes


MARKED = [mark.split()[1] for mark in re.findall(r"# (take \w+)$", "\n".join(LINES), re.MULTILINE)]


@pytest.mark.parametrize("kind", [each for each in MARKED if each != "leaked"])
def test_who_took_and_who_dropped(kinds, kind):
    _, changes = kinds
    assert any(step == 1 and line_of(f"take {kind}") in lines for step, lines in changes[kind])
    assert any(step == -1 and line_of(f"drop {kind}") in lines for step, lines in changes[kind])


def test_no_change_is_missing(kinds):
    trace, _ = kinds
    assert recorded.query(trace, "SELECT DISTINCT how FROM watched_count") == [("watchpoint",)]
    assert recorded.query(trace, "SELECT count(*) FROM watched_count WHERE lost <> 0") == [(0,)]
    assert recorded.query(trace, "SELECT count(*) FROM count_change WHERE abs(after - before) <> 1") == [(0,)]
    assert recorded.query(trace, "SELECT count(*) FROM watched_count w WHERE first + (SELECT coalesce(sum(after - before), 0) FROM"
                                 " count_change WHERE watched = w.id) <> last") == [(0,)]
    # Only what was leaked is left.
    assert recorded.query(trace, "SELECT subject, last FROM watched_count WHERE last <> 0 ORDER BY id") == [
        ("storage", 1), ("tensor", 1), ("object", 1)]  # fmt: skip


def test_without_watchpoints_counts_are_read_at_operators(tmp_path):
    watched(tmp_path / "out", env=recorded.environment(DC_MEMTRACE_TEST_NO_WATCHPOINTS="1"))
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.query(trace, "SELECT DISTINCT how FROM watched_count") == [("operator",)]
    assert recorded.query(trace, "SELECT count(*) > 0 FROM count_change") == [(1,)]


def test_what_cannot_be_watched_is_said(tmp_path):
    run = recorded.tool("run", "--watch", "losses", "-o", tmp_path / "out", "--", sys.executable, "-c", "print('ran')")
    assert (run.returncode, run.stdout) == (125, "")
    assert "'losses' is neither FILE:LINE nor of an earlier trace" in run.stderr


@pytest.mark.parametrize(("how", "code", "printed"), [
    ("forks", 0, "child 0\nspawned 0\nexecuted\n"), ("threads", 0, "sum 2000.0\n"), ("dies", 137, ""), ("masks", 0, "masked\n"),
])  # fmt: skip
def test_a_watched_program_lives_and_dies_as_before(tmp_path, how, code, printed):
    run = recorded.tool("run", "-o", tmp_path / "out", "--watch", f"{LIFE.name}:{line_of('made', LIFE)}", "--", sys.executable, LIFE, how)
    assert (run.returncode, run.stdout) == (code, printed), run.stderr
    (trace,) = recorded.traces(tmp_path / "out")
    if why := no_watchpoints(trace):
        pytest.skip(why)
    counts = recorded.query(trace, "SELECT subject, lost FROM watched_count")
    assert {subject for subject, _ in counts} >= {"storage", "tensor", "object"}
    if how == "masks":
        assert max(lost for subject, lost in counts if subject == "object") > 0


def shown(trace, storage: int) -> list[dict]:
    run = recorded.tool("show", "storage", trace, storage, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["traces"][0]["references"]


@pytest.fixture(scope="module")
def stories(kinds):
    """Of each kind the counts of its storage, as `show storage` has them."""
    trace, changes = kinds
    storages = recorded.query(trace, "SELECT DISTINCT storage FROM watched_count ORDER BY storage")
    return {kind: shown(trace, storage) for kind, (storage,) in zip(changes, storages, strict=True)}


def lines(place, program=PROGRAM) -> list[int]:
    return [frame["line"] for frame in place["by"]["stack"] if frame["file"].endswith(program.name)] if place else []


@pytest.mark.parametrize("kind", [each for each in MARKED if each != "leaked"])
def test_each_reference_is_paired_with_its_drop(stories, kind):
    counts = stories[kind]
    assert not any(count["left"] or count["at_exit"] for count in counts)
    assert all(count["complete"] for count in counts)
    rows = [row for count in counts for row in count["given_back"]]
    assert any(line_of(f"take {kind}") in lines(row["taken"]) and line_of(f"drop {kind}") in lines(row["given_back"]) for row in rows)


def test_what_is_left_was_taken_by_the_planted_line(stories):
    counts = stories["leaked"]
    (row,) = next(count for count in counts if count["subject"] == "object")["left"]
    assert (row["count"], row["taken"]["function"]) == (1, "Py_IncRef")
    assert line_of("take leaked") in lines(row["taken"])
    for count in counts:
        assert sum(row["count"] for row in count["left"]) == count["last"]


def test_the_report_leads_to_the_story(kinds):
    trace, _ = kinds
    report = recorded.tool("report", trace).stdout
    assert re.search(r"References to storage \d+ were left", report)
    words = report.splitlines()[-1].removeprefix("next: ").split()
    text = recorded.tool(*words[1:]).stdout
    assert re.search(r"1 left +\S*reference_kinds.py:\d+ leaked .*Py_IncRef", text)


def left_after(folder, way: str, *more: str) -> list[tuple[str, set[int]]]:
    """Of each count that is not 0 before the exit, whose it is and the lines that took what is left."""
    run = recorded.tool("run", "-o", folder, "--watch", f"{KEEPING.name}:{line_of('made', KEEPING)}", "--", sys.executable, KEEPING, way, *more)
    assert run.returncode == 0, run.stderr
    (trace,) = recorded.traces(folder)
    if why := no_watchpoints(trace):
        pytest.skip(why)
    ((storage,),) = recorded.query(trace, "SELECT DISTINCT storage FROM watched_count")
    counts = shown(trace, storage)
    assert all(count["complete"] for count in counts)
    left = [(count["subject"], count["left"] + count["at_exit"]) for count in counts]
    return [(subject, {line for row in rows for line in lines(row["taken"], KEEPING)}) for subject, rows in left if rows]


WAYS = re.findall(r"# keep (\w+)$", KEEPING.read_text(), re.MULTILINE)


@pytest.mark.parametrize("way", recorded.some(WAYS, 3))
def test_what_a_function_keeps_is_left_and_nothing_in_its_twin(tmp_path, way):
    left = dict(left_after(tmp_path / "kept", way))
    assert line_of(f"keep {way}", KEEPING) in left["object"]
    assert line_of("made", KEEPING) not in left["object"]
    assert left_after(tmp_path / "dropped", way, "--dropped") == []


def test_the_number_of_a_statement_gives_way_to_its_result(tmp_path):
    program = tmp_path / "kept.py"
    program.write_text("import torch\nkept = []\nx = torch.ones(64)\nfor _ in range(3):\n    kept.append(x * 2)\n")
    assert recorded.tool("run", "-o", tmp_path / "out", "--watch", "kept.py:5", "--", sys.executable, program).returncode == 0
    (trace,) = recorded.traces(tmp_path / "out")
    if why := no_watchpoints(trace):
        pytest.skip(why)
    words = recorded.tool("report", trace).stdout.splitlines()[-1].removeprefix("next: ").split()
    story = json.loads(recorded.tool(*words[1:], "--json").stdout)["traces"][0]
    assert story["bytes_at_birth"] == 256
    (row,) = [row for count in story["references"] if count["subject"] == "object" for row in count["at_exit"]]
    assert row["taken"]["code"] == "kept.append(x * 2)"


@recorded.for_soak
def test_the_sample_s_release_is_late_by_two_variables(tmp_path):
    assert recorded.tool("run", "-o", tmp_path / "first", "--", sys.executable, recorded.SAMPLE).returncode == 0
    run = recorded.tool("run", "--watch", f"{tmp_path / 'first'}#1", "-o", tmp_path / "out", "--", sys.executable, recorded.SAMPLE)
    assert run.returncode == 0, run.stderr
    (trace,) = recorded.traces(tmp_path / "out")
    if why := no_watchpoints(trace):
        pytest.skip(why)
    words = recorded.tool("report", trace).stdout.splitlines()[-1].removeprefix("next: ").split()
    text = recorded.tool(*words[1:]).stdout
    for name in ("buf0 = torch.ops.dcmt_z3.allgather_param", "buf2 = torch.ops.dcmt_z3.wait_allgather"):
        assert re.search(re.escape(name) + r".*\n +→ the return of Runner.call", text), text
