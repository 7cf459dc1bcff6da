"""The viewer without a display shows the same values as `report --json` and `show --json`."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest

import recorded

VIEW = recorded.BUILD / "bin" / "dc-memtrace-view"
SNAPSHOTS = recorded.ROOT / "tests" / "testdata"
#: The position of the frame that is the root, within a path: "forward (model.py:7): x".
PLACE = re.compile(r" \([^()]*:\d+\)(?=:)")

pytestmark = pytest.mark.skipif(not VIEW.exists(), reason="built without Qt: there is no viewer")


def converted(name: str, folder: pathlib.Path) -> pathlib.Path:
    trace = folder / f"{name}.dcmt"
    if trace.exists():
        return trace
    result = recorded.tool("convert", SNAPSHOTS / f"snapshot_{name}.pickle", "--to", "trace", "-o", trace)
    assert result.returncode == 0, result.stderr
    return trace


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("view")


@pytest.fixture(scope="module")
def run(folder: pathlib.Path) -> pathlib.Path:
    """A training whose list of losses keeps more and more memory."""
    result = recorded.tool("run", "-o", folder / "run", "--", recorded.sys.executable,
                           recorded.ROOT / "samples" / "growing_list" / "train.py")
    assert result.returncode == 0, result.stderr
    (trace,) = (folder / "run").glob("*.dcmt")
    return trace


@pytest.fixture(scope="module")
def numbers(folder: pathlib.Path) -> pathlib.Path:
    """The same training, with numbers in the list."""
    result = recorded.tool("run", "-o", folder / "numbers", "--", recorded.sys.executable,
                           recorded.ROOT / "samples" / "growing_list" / "train.py", "--numbers")
    assert result.returncode == 0, result.stderr
    (trace,) = (folder / "numbers").glob("*.dcmt")
    return trace


def view(trace: pathlib.Path, *options: object) -> dict:
    facts = trace.with_suffix(".facts.json")
    result = recorded.tool("view", trace, "--facts", facts, *options)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return json.loads(facts.read_text())


def of_json(*arguments: object) -> dict:
    result = recorded.tool(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    (trace,) = json.loads(result.stdout)["traces"]
    return trace


def number(text: str) -> int:
    """The number in "12,655,108 B"."""
    return int(re.sub(r"[ ,B]", "", text))


def compare_with_report(trace: pathlib.Path) -> dict:
    report = of_json("report", trace)
    facts = view(trace)
    device = report["devices"][0]
    assert facts["device"] == device["device"]
    columns = facts["timeline"]["columns"]
    assert max(column["highest_bytes"] for column in columns) == device["bytes"]
    (at_peak, *_) = (column for column in columns if column["highest_bytes"] == device["bytes"])
    assert at_peak["highest_seq"] == device["at"]["seq"] == facts["point_seq"]
    assert facts["without_peak_bytes"] == device["predicted_bytes"]
    if device["without_findings"]:
        assert max(column["without_bytes"] for column in columns) == device["predicted_bytes"]
        assert at_peak["dead_bytes"] == device["dead_bytes"]
    for column in columns:
        assert sum(column["groups"].values()) == column["highest_bytes"]

    titles = [f"{finding['number']} {finding['title'].upper()}" for finding in report["findings"]
              if finding["device"] == device["device"]]
    assert [row[0] for row in facts["panels"]["findings"]] == titles
    live = of_json("show", "live", trace, "--at", "peak")
    expected = [(group["bytes"], group["name"]) for group in live["by_site"]]
    assert [(number(row[0]), row[3]) for row in facts["panels"]["live"]] == expected
    named = {name: size for name, size in at_peak["groups"].items() if name != "others"}
    assert named.items() <= {name: size for size, name in expected}.items()
    for bar in facts["timeline"]["bars"]:
        if bar["finding"]:
            assert bar["finding"] in [finding["number"] for finding in report["findings"]]
    return facts


def test_a_run_equals_its_report(run: pathlib.Path) -> None:
    facts = compare_with_report(run)
    assert any(bar["finding"] == 1 for bar in facts["timeline"]["bars"])
    assert facts["panels"]["selection"][0] == ["finding", "1 GROWS"]
    said = dict(facts["panels"]["selection"])
    (finding,) = of_json("report", run)["findings"]
    growth = finding["growth"]
    assert said["held by"] == f"{growth['holder']} [{growth['type']}]" == "main.losses [list]"
    assert said["made at"].split("   ")[0] == (growth["sites"][0]["called_from"] or growth["sites"][0]["site"])
    assert number(said["alone"].split(" are")[0]) == growth["alone_bytes"]
    # Both front ends have one wording.
    text = recorded.tool("report", "--bytes", run).stdout
    assert f"1  GROWS  {said['of']}\n" in text
    for label in ("held by", "added at", "made at", "alone", "because", "fix"):
        assert f"   {label:<12}{said[label]}\n" in text, (label, text)


@pytest.mark.parametrize("name", recorded.some(["whole", "cpp_frames", "no_history", "expandable", "cut"], 2))
def test_snapshots_of_a_gpu_equal_their_reports(name: str, folder: pathlib.Path) -> None:
    compare_with_report(converted(name, folder))


def test_a_storage_equals_its_story(run: pathlib.Path) -> None:
    facts = view(run, "--select", "finding:1", "--at", "step:3")
    story = facts["panels"]["story"]
    storage = int(dict(facts["panels"]["selection"])["storage"])
    shown = of_json("show", "storage", run, storage)
    points = {shown["born"]["seq"], *(block["born"]["seq"] for block in shown["blocks"])}
    assert points <= {int(row[0].replace(",", "")) for row in story}
    live = of_json("show", "live", run, "--at", "step:3")
    for by in ("category", "holder"):
        facts = view(run, "--at", "step:3", "--by", by)
        assert [(number(row[0]), row[3]) for row in facts["panels"]["live"]] == [
            (group["bytes"], group["name"]) for group in live[f"by_{by}"]]
    assert sum(number(row[0]) for row in facts["panels"]["live"]) == live["bytes"]


def test_a_picture_needs_no_display(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for size, theme in (("1280x720", "light"), ("1920x1080", "dark")):
        picture = tmp_path / f"{size}.png"
        result = recorded.tool("view", run, "--picture", picture, "--size", size, "--theme", theme)
        assert (result.returncode, result.stderr) == (0, "")
        header = picture.read_bytes()[:24]
        assert header[:8] == b"\x89PNG\r\n\x1a\n"
        assert f"{int.from_bytes(header[16:20], 'big')}x{int.from_bytes(header[20:24], 'big')}" == size


def compare_panels(trace: pathlib.Path, at: str) -> dict:
    report = of_json("report", trace)
    facts = view(trace, "--at", at, *(("--select", "finding:1") if report["findings"] else ()))
    panels = facts["panels"]
    if report["findings"]:
        holders = of_json("show", "holders", trace, "finding:1")
        assert [(row[0], number(row[2]), number(row[3]), int(row[4])) for row in panels["containers"]] == [
            (each["path"], each["bytes"], each["alone_bytes"], each["storages"]) for each in holders["containers"]]
        assert [(PLACE.sub("", row[0].split("   ")[0]), number(row[1]), int(row[2])) for row in panels["paths"]] == [
            (each["path"], each["bytes"], each["storages"]) for each in holders["paths"]]
    saved = of_json("show", "saved", trace, "--at", at)
    assert [(row[0], row[1], number(row[2]), number(row[3]), int(row[4])) for row in panels["saved"]] == [
        (each["node"], each["field"], each["bytes"], each["elsewhere_bytes"], each["storages"]) for each in saved["fields"]]
    assert [(int(row[0]), number(row[1]), int(row[2])) for row in panels["survivors"]] == [
        (each["step"], each["bytes"], each["storages"]) for each in report["survivors"]]
    said = dict(panels["run"])
    assert int(said["records"].replace(",", "")) == report["facts"]["records"]
    assert int(said["lost records"].replace(",", "")) == report["facts"]["lost"]
    assert said.get("command", "") == report["facts"]["command"] and int(said["steps"]) == report["facts"]["steps"]
    return facts


def test_panels_equal_show(run: pathlib.Path) -> None:
    facts = compare_panels(run, "step:7")
    assert any(text.endswith(".losses") for text in facts["holder_graph"]) and "[*]" in facts["holder_graph"]
    for panel in ("containers", "saved", "survivors"):
        assert facts["panels"][panel] != [], panel


def lossy(folder: pathlib.Path) -> pathlib.Path:
    """A trace whose recorder was stopped while the program continued."""
    result = recorded.tool("run", "-o", folder / "lossy", "--detail", "full", "--spool-mib", "1", "--",
                           recorded.sys.executable, recorded.PROGRAMS / "losing.py")
    assert result.returncode == 0, result.stderr
    (trace,) = (folder / "lossy").glob("*.dcmt")
    return trace


def compare_losses(trace: pathlib.Path) -> None:
    """The stretch with lost records is as long as in the rows, so that its text fits."""
    ((lost, since, until),) = recorded.query(trace, "SELECT count, from_ns, to_seq FROM loss")
    assert lost == of_json("report", trace)["facts"]["lost"] > 0
    (begin,), (end,) = (recorded.query(trace, f"SELECT {what} FROM block WHERE from_{which}", of)[0] for what, which, of in (
        ("max(from_seq)", "ns <= ?", since), ("min(from_seq)", "seq > ?", until)))
    facts = trace.with_suffix(".stretch.json")
    result = recorded.tool("view", f"dcmt:{trace}#view?device=cpu&from={begin}&to={end}", "--facts", facts)
    assert (result.returncode, result.stderr) == (0, "")
    texts = [text["text"] for text in json.loads(facts.read_text())["timeline"]["texts"]]
    assert "lost records" in texts and f"{lost:,} lost" in texts


def window_of(run: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The last of its 40 steps. The range before it is wide enough for its texts on both axes; the speed determines the scale."""
    trace = folder / "window_of.dcmt"
    assert recorded.tool("trim", run, "--from", "step:30", "--to", "peak", "-o", trace).returncode == 0
    return trace


@pytest.mark.parametrize("kind", ["losses", "window", "nothing grows", "out of memory"])
def test_panels_equal_show_of_other_kinds_of_traces(kind: str, run: pathlib.Path, numbers: pathlib.Path,
                                                    folder: pathlib.Path) -> None:
    trace = {"losses": lambda: lossy(folder), "window": lambda: window_of(run, folder),
             "nothing grows": lambda: numbers, "out of memory": lambda: converted("whole", folder)}[kind]()
    facts = compare_panels(trace, {"out of memory": "end", "window": "step:35", "losses": "step:20"}.get(kind, "step:9"))
    if kind == "losses":
        compare_losses(trace)
        compare_with_report(trace)
    if kind == "window":
        assert "sums only" in json.dumps(facts["timeline"]["texts"])


def test_a_link_opens_the_same_view(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    facts = view(run, "--select", "finding:1", "--at", "step:7", "--by", "phase")
    again = tmp_path / "again.json"
    result = recorded.tool("view", facts["link"], "--facts", again)
    assert (result.returncode, result.stderr) == (0, "")
    shown = json.loads(again.read_text())
    for key in ("timeline", "panels", "point_seq", "link", "without_peak_bytes"):
        assert shown[key] == facts[key], key
    wrong = recorded.tool("view", facts["link"] + "&no=1", "--facts", again)
    assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 1 and "is no link" in wrong.stderr


def test_a_folder_of_ranks_equals_show_ranks(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(3):
        copy = folder / f"rank{rank}.dcmt"
        copy.write_bytes(run.read_bytes())
        with sqlite3.connect(copy) as database:
            database.execute("DELETE FROM meta WHERE key IN ('rank', 'world_size')")
            database.execute("INSERT INTO meta (key, value) VALUES ('rank', ?), ('world_size', 3)", [rank])
            if rank == 2:  # the same run with a larger block
                database.execute("UPDATE block SET bytes = bytes + 100000000 WHERE rowid = (SELECT min(rowid) FROM block)")
    shown = recorded.tool("show", "ranks", folder, "--json")
    assert shown.returncode == 0, shown.stderr
    ranks = json.loads(shown.stdout)
    facts = view(folder)
    assert [(int(row[0]), number(row[2])) for row in facts["panels"]["ranks"]] == [
        (rank["rank"], rank["devices"][0]["peak_bytes"]) for rank in ranks["ranks"]]
    sides = {number(row[1].split(" on ")[0]) for row in facts["panels"]["rank_differences"] if row[0] == "peak"}
    assert sides == {side["bytes"] for side in ranks["memory"]["peaks"]} and len(sides) == 2
    assert ["stands out", "rank 2: peak"] in facts["panels"]["rank_differences"]
    assert facts["rank_curves"]["current"] == 0
    for rank, row in zip(ranks["ranks"], facts["rank_curves"]["rows"], strict=True):
        if rank["rank"] != 2:  # its stored curve was made before the change
            assert max(row["columns"]) == rank["devices"][0]["peak_bytes"]


def test_a_comparison_equals_diff(run: pathlib.Path, numbers: pathlib.Path) -> None:
    difference = json.loads(recorded.tool("diff", numbers, run, "--json").stdout)["differences"][0]
    rows = view(run, "--compare", numbers)["panels"]["comparison"]
    changed = [row for row in rows if not row[0].startswith((" ", "finding", "peak of step")) and row[1]]
    assert [(row[0], int(row[1].replace(",", ""))) for row in changed] == [
        (each["name"], each["change"]) for each in difference["numbers"]]
    steps = {row[0]: [int(cell.replace(",", "")) for cell in row[4:6]] for row in rows if row[0].startswith("peak of step")}
    assert steps == {f"peak of step {each['step']}": [each["before_bytes"], each["after_bytes"]] for each in difference["steps"]}
    lines = [row for row in rows if row[0].startswith(" ")]
    assert len(lines) == sum(len(each["lines"]) for each in difference["numbers"]) > 0


@pytest.mark.skipif("DCMT_ALL_CASES" not in os.environ, reason="for scripts/soak")
def test_the_package_reads_traces_and_needs_no_torch(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = subprocess.run(["cpack", "-G", "DEB", "--config", recorded.BUILD / "CPackConfig.cmake", "-B", tmp_path],
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    (package,) = tmp_path.glob("*.deb")
    fields = subprocess.run(["dpkg-deb", "-f", package], capture_output=True, text=True, check=True).stdout
    assert "qt6" in fields and "torch" not in fields.split("Depends:")[1].splitlines()[0]
    subprocess.run(["dpkg-deb", "-x", package, tmp_path / "root"], check=True)
    tool = tmp_path / "root" / "usr" / "bin" / "dc-memtrace"
    facts = tmp_path / "facts.json"
    for command in ([tool, "report", run], [tool, "view", run, "--facts", facts]):
        result = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/nowhere"}, check=False)
        assert result.returncode == 0, result.stderr
    assert json.loads(facts.read_text())["panels"]["findings"][0][0] == "1 GROWS"


def test_the_walk_through_says_what_is_shown(run: pathlib.Path, numbers: pathlib.Path) -> None:
    text = (recorded.ROOT / "docs" / "viewer.md").read_text()
    walk = text.split("## From a bump to its line")[1].split("\n## ")[0]
    quoted = set(re.findall(r"`([^`]+)`", walk)) - {"samples/growing_list", "X"}
    shown = json.dumps(view(run, "--compare", numbers), ensure_ascii=False)
    assert quoted and [words for words in quoted if words not in shown] == []
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", walk):
        assert (recorded.ROOT / "docs" / picture).is_file()


def test_a_memory_snapshot_is_opened_directly(folder: pathlib.Path) -> None:
    pickle = SNAPSHOTS / "snapshot_whole.pickle"
    facts = folder / "pickle.json"
    result = recorded.tool("view", pickle, "--facts", facts)
    assert (result.returncode, result.stderr) == (0, "")
    direct = json.loads(facts.read_text())
    by_trace = view(converted("whole", folder))
    assert direct["timeline"]["columns"] == by_trace["timeline"]["columns"]
    assert direct["panels"]["live"] == by_trace["panels"]["live"]


def gaps(trace: pathlib.Path, at: int) -> tuple[list[tuple[int, int]], dict[int, list[tuple[int, int]]]]:
    """The stretches in which blocks ever lay, and the live blocks of each at a point, from the rows alone."""
    with sqlite3.connect(trace) as database:
        blocks = database.execute("SELECT address, address + bytes, from_seq, to_seq FROM block WHERE address != 0 AND bytes > 0"
                                  " AND device = 'cpu' ORDER BY address").fetchall()
    stretches: list[tuple[int, int]] = []
    live: dict[int, list[tuple[int, int]]] = {}
    for begin, end, born, died in blocks:
        if not stretches or begin - stretches[-1][1] >= 2 << 20:
            stretches.append((begin, end))
        stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end))
        if born <= at and (died is None or at < died):
            live.setdefault(len(stretches) - 1, []).append((begin, end))
    return stretches, live


def test_the_map_of_addresses_is_that_of_the_rows(run: pathlib.Path) -> None:
    for point in ("peak", "end"):
        facts = view(run, "--at", point, "--arrange", "address", "--panel", "addresses")
        stretches, live = gaps(run, facts["point_seq"])
        rows = facts["panels"]["addresses"]
        assert len(rows) == len(stretches) > 0
        for row, (index, (begin, end)) in zip(rows, enumerate(stretches)):
            blocks = live.get(index, [])
            edges = [begin, *(edge for block in blocks for edge in block), end]
            largest = max(after - before for before, after in zip(edges[::2], edges[1::2]))
            assert (int(row[0], 16), *map(number, row[1:])) == (
                begin, end - begin, sum(to - of for of, to in blocks), len(blocks), largest)
        # The bands of the timeline are the same stretches.
        texts = " ".join(text["text"] for text in facts["timeline"]["texts"])
        assert hex(stretches[0][0]) in texts
        assert "arrange=address" in facts["link"]


def segments(trace: pathlib.Path, at: int) -> list[tuple[int, int, int, int, int]]:
    """The reserved memory after a record: address, bytes, bytes in blocks, blocks and the largest gap, from the rows alone."""
    alive = "from_seq <= ? AND (to_seq IS NULL OR to_seq > ?)"
    ranges: list[list[int]] = []
    parts = recorded.query(trace, f"SELECT address, bytes, expandable FROM segment WHERE {alive} ORDER BY address", at, at)
    for address, size, expandable in parts:
        if ranges and expandable and ranges[-1][1] == address:  # parts of a segment that is mapped step by step
            ranges[-1][1] += size
        else:
            ranges.append([address, address + size])
    blocks = recorded.query(trace, f"SELECT address, address + bytes FROM block WHERE {alive} ORDER BY address", at, at)
    found = []
    for begin, end in ranges:
        inside = [block for block in blocks if begin <= block[0] < end]
        edges = [begin, *(edge for block in inside for edge in block), end]
        gap = max(after - before for before, after in zip(edges[::2], edges[1::2]))
        found.append((begin, end - begin, sum(to - of for of, to in inside), len(inside), gap))
    return found


@pytest.mark.parametrize("name", recorded.some(["whole", "expandable", "cut", "cpp_frames"], 2))
def test_the_map_of_a_gpu_has_its_segments(name: str, folder: pathlib.Path) -> None:
    trace = converted(name, folder)
    for point in ("peak", "end", "1"):
        facts = view(trace, "--at", point, "--arrange", "address", "--panel", "addresses")
        rows = [(int(row[0], 16), *map(number, row[1:])) for row in facts["panels"]["addresses"]]
        assert rows == segments(trace, facts["point_seq"]), point
    reserved = [column["reserved_bytes"] for column in facts["timeline"]["columns"]]
    assert max(reserved) == of_json("report", trace)["devices"][0]["reserved_bytes"]
    pickle = SNAPSHOTS / f"snapshot_{name}.pickle"
    direct = folder / "direct.json"
    assert recorded.tool("view", pickle, "--facts", direct, "--at", "1").returncode == 0
    assert json.loads(direct.read_text())["panels"]["addresses"] == facts["panels"]["addresses"]


def test_a_window_is_a_trace_of_its_own(run: pathlib.Path, folder: pathlib.Path) -> None:
    window = folder / "window.dcmt"
    result = recorded.tool("trim", run, "--from", "step:10", "--to", "step:12", "-o", window, "--json")
    assert result.returncode == 0, result.stderr
    said = json.loads(result.stdout)
    intervals = recorded.query(run, "SELECT step, from_seq, to_seq FROM interval ORDER BY from_seq")
    inside = [row for row in intervals if row[0] in (10, 11, 12)]
    assert (said["steps"], said["stretches"], said["of_stretches"]) == (3, 3, len(intervals))
    assert (said["after_seq"], said["to_seq"]) == (inside[0][1], inside[-1][2])
    assert said["bytes"] == window.stat().st_size < run.stat().st_size
    # All rows of the copy are rows of the whole trace. All rows that overlap the window are copied.
    for table in ("block", "storage", "tensor"):
        touches = f"SELECT * FROM {table} WHERE from_seq <= ? AND (to_seq IS NULL OR to_seq > ?) ORDER BY id"
        assert recorded.query(window, f"SELECT * FROM {table} ORDER BY id") == recorded.query(
            run, touches.replace("?", "{}").format(said["to_seq"], said["after_seq"])), table
    kept = recorded.query(window, "SELECT step FROM interval WHERE kept IS NOT NULL ORDER BY step")
    assert kept == [(10,), (11,), (12,)]
    # At each point in the window the same is alive. The peaks of steps are unchanged.
    for point in ("step:10", str(said["after_seq"] + 50), "step:12"):
        whole, part = (of_json("show", "live", trace, "--at", point) for trace in (run, window))
        assert (part["bytes"], part["by_site"]) == (whole["bytes"], whole["by_site"]), point
    whole, part = (of_json("report", trace) for trace in (run, window))
    assert part["devices"][0]["bytes"] == whole["devices"][0]["bytes"]
    facts = view(window)
    assert max(column["highest_bytes"] for column in facts["timeline"]["columns"]) == whole["devices"][0]["bytes"]
    assert "sums only" in json.dumps(facts["timeline"]["texts"])
    assert "3 asked for" in recorded.tool("report", window).stdout
    recorded.one_line(recorded.tool("trim", window, "--from", "step:20", "--to", "step:21", "-o", folder / "none.dcmt"), 2)


def test_a_window_that_is_none_is_one_line(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out.dcmt"
    foreign = tmp_path / "foreign.dcmt"
    foreign.write_text("no trace")
    for code, words in ((2, (run,)), (2, (run, "--from", "nowhere")), (2, (run, "--from", "step:9", "--to", "step:3")),
                        (3, (foreign, "--from", "1")), (3, (tmp_path / "missing.dcmt", "--from", "1"))):
        recorded.one_line(recorded.tool("trim", *words, "-o", out), code)
        assert not out.exists()
    recorded.one_line(recorded.tool("trim", run, "--from", "1", "-o", run), 2)
    out.write_text("mine")
    recorded.one_line(recorded.tool("trim", run, "--from", "1", "-o", out), 3)
    assert out.read_text() == "mine"


def bad_traces(folder: pathlib.Path, run: pathlib.Path) -> dict[str, pathlib.Path]:
    files = {name: folder / f"{name}.dcmt" for name in ("foreign", "cut", "newer", "missing", "empty")}
    files["foreign"].write_text("no trace")
    files["cut"].write_bytes(run.read_bytes()[:20000])
    files["newer"].write_bytes(run.read_bytes())
    with sqlite3.connect(files["newer"]) as database:
        database.execute("PRAGMA user_version = 999")
    files["empty"].write_bytes(b"")
    return files


def test_what_cannot_be_shown_is_one_line(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for trace in bad_traces(tmp_path, run).values():
        result = recorded.tool("view", trace, "--facts", tmp_path / "facts.json")
        assert result.returncode == 3, trace
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert not (tmp_path / "facts.json").exists()
    for wrong in (["--at", "nowhere"], ["--select", "storage:99999999"], ["--size", "3x3"], ["--theme", "blue"], ["--by", "color"],
                  ["--arrange", "color"]):
        result = recorded.tool("view", run, "--facts", tmp_path / "facts.json", *wrong)
        assert result.returncode == 2, wrong
        assert len(result.stderr.splitlines()) == 1, result.stderr
    result = recorded.tool("view", run, "--facts", tmp_path / "nowhere" / "facts.json")
    assert result.returncode == 3


def test_without_a_display_it_says_so(run: pathlib.Path) -> None:
    environment = recorded.environment()
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        environment.pop(name, None)
    result = subprocess.run([VIEW, run], env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 3
    assert "there is no display" in result.stderr and len(result.stderr.splitlines()) == 1
