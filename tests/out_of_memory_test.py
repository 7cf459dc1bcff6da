"""A request that the CPU allocator cannot serve: ten lines at once, the row, the finding, and the program as it was."""

from __future__ import annotations

import json
import sys

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "out_of_memory.py"
IMPOSSIBLE = 1 << 47
HELD = 1024 * 1024
LINE = next(
    number
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if line.strip() == "kept = gather(arguments.device)"
)


def run(folder, *arguments: str):
    return recorded.tool("run", "-o", folder, "--", sys.executable, PROGRAM, "cpu", *arguments)


def our_lines(stderr: str) -> list[str]:
    """The first block of the tool's lines, from its first to its last line."""
    lines = stderr.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("dc-memtrace: out of memory on"))
    end = next(i for i, line in enumerate(lines) if i >= begin and line.startswith("  next dc-memtrace show live"))
    return lines[begin : end + 1]


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oom") / "out"
    return folder, run(folder)


def test_the_program_ends_as_it_would_without_us(failed):
    folder, done = failed
    plain = recorded.python(PROGRAM, "cpu")
    assert done.returncode == plain.returncode == 1
    assert plain.stderr.splitlines()[-1] in done.stderr
    assert recorded.meta(recorded.traces(folder)[0])["exit"] == "exit 1"


def test_the_lines_name_the_tensor_that_is_held(failed):
    folder, done = failed
    lines = our_lines(done.stderr)
    assert len(lines) <= 10
    text = "\n".join(lines)
    assert "128.0 TiB asked for by aten::empty at programs/out_of_memory.py" in lines[0]
    assert "1.0 MiB of it is released and still held, by 1 storage" in text
    assert f"main: kept   programs/out_of_memory.py:{LINE}   kept = gather(arguments.device)" in text
    assert "drop the variable before the release" in text
    assert lines[-1] == f"  next dc-memtrace show live {folder} --at oom"
    # They are contiguous, however much the program writes.
    assert "\n".join(lines) in done.stderr


def test_the_row_has_what_was_asked(failed):
    folder, _ = failed
    (trace,) = recorded.traces(folder)
    rows = recorded.query(
        trace,
        "SELECT device, requested, allocated, free, string.text FROM oom JOIN operator ON operator.id = oom.operator"
        " JOIN string ON string.id = operator.name",
    )
    assert rows == [("cpu", IMPOSSIBLE, None, None, "aten::empty")]


def test_the_report_says_why(failed):
    folder, _ = failed
    (report,) = recorded.report(folder)
    finding = report["findings"][0]
    assert finding["rule"] == "out_of_memory"
    (error,) = finding["out_of_memory"]
    assert error["requested_bytes"] == error["missing_bytes"] == IMPOSSIBLE
    assert error["dead_bytes"] == HELD
    assert error["cause"] == "needed"
    assert not error["fits_without_dead"]
    assert not error["went_on"]
    assert [item["key"]["key"] for item in finding["items"]] == [7]
    assert [other["rule"] for other in report["findings"][1:]] == ["residual"]


def test_what_was_alive_is_shown(failed):
    folder, _ = failed
    shown = recorded.tool("show", "live", folder, "--at", "oom", "--by", "kind", "--json")
    assert shown.returncode == 0, shown.stderr
    (trace,) = json.loads(shown.stdout)["traces"]
    ((seq,),) = recorded.query(recorded.traces(folder)[0], "SELECT id FROM oom")
    assert trace["at_seq"] == seq
    assert {group["name"]: group["bytes"] for group in trace["by_kind"]}["gathered parameter"] == HELD
    missing = recorded.tool("show", "live", folder, "--at", "oom#2")
    assert missing.returncode == 2


def named(report: dict, rule: str) -> tuple[str, list[str]]:
    (finding,) = [each for each in report["findings"] if each["rule"] == rule]
    census = finding["holders"]
    return census["trigger"], [name["name"] for path in census["paths"] for name in path["names"]]


@pytest.mark.parametrize("options, then", [((), "kept"), (("--pass-on",), "later")])
def test_who_holds_it_when_memory_runs_out(tmp_path, options, then):
    """This holder may differ from the one at the release."""
    done = run(tmp_path / "out", "--catch", "--times", "2", *options)
    assert "1.0 MiB by main: " + then in "\n".join(our_lines(done.stderr))
    (report,) = recorded.report(tmp_path / "out")
    assert named(report, "residual") == ("release", ["kept"])
    assert named(report, "out_of_memory") == ("out_of_memory", [then])
    # The inspection itself does not hold anything: each error was inspected once, while the failed operator was ending.
    inspected = recorded.query(
        recorded.traces(tmp_path / "out")[0],
        "SELECT mark.operator IS NOT NULL, count(*) FROM mark WHERE trigger = 'out_of_memory' GROUP BY 1",
    )
    assert inspected == [(1, 2)]
    storage = str(report["findings"][0]["items"][0]["storage"])
    story = recorded.tool("show", "storage", tmp_path / "out", storage).stdout
    assert f"main: {then}" in story.split(", as memory ran out")[1]
    shown = recorded.tool("report", tmp_path / "out").stdout
    assert f"held by     main: {then}\n" in shown.split("RELEASE KEEPS STORAGE")[0]


def test_a_program_that_goes_on(tmp_path):
    done = run(tmp_path / "out", "--catch", "--drop", "--times", "5")
    assert done.returncode == 0
    assert json.loads(done.stdout)["errors"] == json.loads(
        recorded.python(PROGRAM, "cpu", "--catch", "--drop", "--times", "5").stdout
    )["errors"]
    # The first three are printed at once, the others are counted.
    assert done.stderr.count("dc-memtrace: out of memory on cpu") == 3
    assert "5 out-of-memory errors in all" in done.stderr
    assert "still held" not in done.stderr.replace("nothing of it was released and is still held", "")
    (report,) = recorded.report(tmp_path / "out")
    (finding,) = report["findings"]
    assert [error["went_on"] for error in finding["out_of_memory"]] == [True] * 5
    assert [error["dead_bytes"] for error in finding["out_of_memory"]] == [0] * 5
    assert recorded.tool("show", "live", tmp_path / "out", "--at", "oom#5").returncode == 0


@pytest.mark.parametrize("after, went_on", [("torch.ones(2)", True), ("del small", False)])
def test_small_blocks_show_whether_a_program_goes_on(tmp_path, after, went_on):
    """Frees can belong to an error on its way out; allocations cannot. The lines begin a line of their own, although the
    program has written a part of a line to the same standard error."""
    program = f"""
import os, torch
os.write(2, b"half a line")
small = [torch.ones(2) for _ in range(9)]
try:
    torch.empty({IMPOSSIBLE}, dtype=torch.uint8)
except RuntimeError:
    pass
{after}
raise SystemExit(3)
"""
    done = recorded.tool("run", "-o", tmp_path / "out", "--", sys.executable, "-c", program)
    assert done.returncode == 3
    assert done.stderr.startswith("half a line") and our_lines(done.stderr)
    (report,) = recorded.report(tmp_path / "out")
    (finding,) = report["findings"]
    assert [error["went_on"] for error in finding["out_of_memory"]] == [went_on]


def test_the_report_says_what_to_keep_less_of(tmp_path):
    (tmp_path / "fills.py").write_text(
        "import torch\nkept = []\n"
        "for _ in range(4):\n    kept.append(torch.ones(1 << 20))\n    torch.ones(1 << 18)\n"
        f"torch.empty({IMPOSSIBLE}, dtype=torch.uint8)\n"
    )
    assert recorded.tool("run", "-o", tmp_path / "out", "fills.py", cwd=tmp_path).returncode == 1
    said = recorded.tool("report", tmp_path / "out").stdout
    assert "held        16.0 MiB by main" in said, said
    assert "below" not in next(line for line in said.splitlines() if line.startswith("   fix "))


def test_a_first_request_that_fails_is_kept(tmp_path):
    (tmp_path / "first.py").write_text(f"import torch\ntorch.empty({IMPOSSIBLE}, dtype=torch.uint8)\n")
    done = recorded.tool("run", "-o", tmp_path / "out", "first.py", cwd=tmp_path)
    assert our_lines(done.stderr)[-1] == f"  next dc-memtrace show live {tmp_path / 'out'} --at oom"
    assert recorded.tool("show", "live", tmp_path / "out", "--at", "oom").returncode == 0
    (report,) = recorded.report(tmp_path / "out")
    assert [finding["rule"] for finding in report["findings"]] == ["out_of_memory"]
