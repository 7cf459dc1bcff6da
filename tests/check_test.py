"""`check` in a CI job: baselines, exit codes, formats; on traces written by hand, and on one that is recorded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
import recorded
import written_trace
from life_safety import LIFE

MIB = 1 << 20
FORWARD = ((14, 4 * MIB), (16, 2 * MIB))  # lines, with the bytes that each allocates in a step
PLANTED = (*FORWARD, (15, MIB))


def training(path, forward=FORWARD, *, steps=6, lost=0, arguments="", torch="2.11.0", exit_text="exit 0"):
    """A trace of a training: a weight, and steps whose forward allocates memory that a later phase frees."""
    trace = written_trace.Trace(path)
    program = trace.string(str(path.parent / "train.py"))
    stacks: dict[int, int] = {}

    def stack(line: int, function: str = "forward") -> int:
        if line not in stacks:
            number = stacks[line] = len(stacks) + 1
            trace.insert("frame", id=number, file=program, function=trace.string(function), line=line)
            trace.insert("stack", id=number, frame=number)
        return stacks[line]

    def block(birth: int, death: int | None, line: int, size: int) -> None:
        length = None if death is None else death - birth
        trace.lifetime("block", birth, length, address=64 * birth, bytes=size, stack=stack(line))

    block(trace.next_seq(), None, 5, MIB)
    for step in range(steps):
        begin = trace.next_seq()
        births = [(trace.next_seq(), line, size) for line, size in sorted(forward)]
        trace.mark(begin, end := trace.next_seq(), "phase", name=trace.string("forward"))
        for birth, line, size in births:
            block(birth, trace.next_seq(), line, size)
        trace.mark(trace.next_seq(), trace.seq, "step", value=step)
        assert end < trace.seq
    if lost:
        trace.insert("loss", id=1, reason="no_room", count=lost, from_seq=1, to_seq=1, ns=1)
    command = f"/usr/bin/python train.py {arguments}".strip()
    trace.save(torch=torch, python="3.11.7", command=command, exit=exit_text)
    return path


def results_of(path):
    """The results in a SARIF file, after checks of the properties that SARIF 2.1.0 requires."""
    document = json.loads(path.read_text())
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-2.1.0.json")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] and re.fullmatch(r"\d+\.\d+\.\d+.*", driver["version"])
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
    for result in run["results"]:
        assert set(result) == {"ruleId", "level", "message", "partialFingerprints", "locations"}
        assert result["ruleId"] in rules and result["level"] in ("error", "warning") and result["message"]["text"]
        for location in result["locations"]:
            place = location["physicalLocation"]
            assert re.fullmatch(r"[A-Za-z0-9/._~%:-]+", place["artifactLocation"]["uri"])
            assert place["region"]["startLine"] >= 1
    return run["results"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with the baseline of `training`."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_REF", "GITHUB_STEP_SUMMARY", "CI_COMMIT_BRANCH"):
        monkeypatch.delenv(name, raising=False)
    result = recorded.tool("check", "--update", "--baseline", "gpt.json", training(tmp_path / "first.dcmt"))
    assert result.returncode == 0, result.stderr
    return tmp_path


def check(*arguments, code, **environment):
    result = recorded.tool("check", "--baseline", "gpt.json", *arguments, env=recorded.environment(**environment))
    assert result.returncode == code, result.stdout + result.stderr
    return result


def test_the_same_run_passes_and_the_baseline_is_reviewable(here):
    result = check(training(here / "again.dcmt"), code=0)
    assert result.stdout.startswith("PASS  4 facts as in gpt.json (cpu, torch 2.11), peak.")
    text = (here / "gpt.json").read_text()
    assert len(text.splitlines()) <= 40
    assert '"train.py forward": [1048576, 4194304, 2097152]' in text
    assert str(here) not in text


def test_a_plant_of_one_mib_fails_in_every_format_with_its_line(here):
    trace = training(here / "planted.dcmt", PLANTED)
    summary = here / "summary.md"
    options = ("--junit", "out/junit.xml", "--sarif", "check.sarif", "--github", trace)
    text = check(*options, code=1, GITHUB_STEP_SUMMARY=str(summary)).stdout
    assert re.search(r"^FAIL  peak\.\w+ \+1,048,576 B \(\+\d+\.\d %\) +tolerance 0 B$", text, re.MULTILINE)
    assert "why     peak.first_step: train.py:15 forward: +1,048,576 B, 100 % of the growth" in text
    assert text.count("[exit 1]") == 1
    (mark,) = re.findall(r"^::.*", text, re.MULTILINE)  # one for the line, not one for each fact
    facts = "peak.first_step%2C peak.forward%2C peak.other"
    assert mark.startswith(f"::error file=train.py,line=15,title=memory%3A {facts}::peak.first_step +1,048,576 B")
    assert mark.count("+1,048,576 B") == 4 and mark.count("train.py:15") == 1
    assert "| ❌ peak.forward | 7,340,032 B | 8,388,608 B | grew | train.py:15 forward" in summary.read_text()

    root = xml.parse(here / "out/junit.xml").getroot()
    suite = root.find("testsuite")
    assert root.tag == "testsuites" and [case.tag for case in suite] == ["testcase"] * int(suite.get("tests"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "3", "0")
    failed = {case.get("name"): case.find("failure") for case in suite if case.find("failure") is not None}
    assert set(failed) == {"peak.first_step", "peak.forward", "peak.other"}
    assert "train.py:15" in failed["peak.forward"].get("message")
    assert float(suite.get("time")) == float(suite.find("testcase").get("time")) > 0

    results = results_of(here / "check.sarif")
    assert {result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results} == {15}
    assert {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results} == {"train.py"}

    (verdict,) = json.loads(check("--json", trace, code=1).stdout)["checks"]
    causes = [fact["causes"][0] for fact in verdict["facts"] if fact["failed"]]
    assert {cause["line"] for cause in causes} == {15} and {cause["bytes"] for cause in causes} == {MIB}


def test_a_tolerance_is_a_share_or_bytes(here):
    """Of an option, and as an update has written it."""
    more = training(here / "more.dcmt", (*FORWARD, (15, 4)))
    text = check(more, code=1).stdout
    assert "+4 B (+0.00 %)" in text
    for tolerance in ("0.1%", "64KiB"):
        assert check("--tolerance", tolerance, more, code=0).stdout.startswith("PASS")
    planted = training(here / "planted.dcmt", PLANTED)
    text = check("--tolerance", "1%", planted, code=1).stdout
    assert "tolerance 73,400 B" in text and f"--tolerance 1% {planted}\n" in text
    update = recorded.tool("check", "--update", "--tolerance", "1%", "--baseline", "gpt.json", here / "first.dcmt")
    assert update.returncode == 0 and "0.00 %" not in update.stdout, update.stdout + update.stderr
    assert check(more, code=0).stdout.startswith("PASS")
    assert recorded.tool("check", "--update", "--baseline", "gpt.json", more).returncode == 0
    assert "since" not in check(more, code=0).stdout  # +4 B in all is +0.00 %
    assert check(planted, code=1)


def test_a_gain_fails_under_strict_alone(here):
    trace = training(here / "less.dcmt", ((14, 4 * MIB), (16, MIB)))
    assert "a gain" in check(trace, code=0).stdout
    text = check("--strict", trace, code=1).stdout
    assert "train.py:16 forward: -1,048,576 B, 100 % of the gain" in text


def test_another_workload_is_not_comparable(here):
    trace = training(here / "batch.dcmt", arguments="--batch 64")
    assert check(trace, code=5).stdout.startswith(
        "NOT COMPARABLE  the program's arguments: none in the baseline, --batch 64 now\n")
    assert "[exit 0]" in check("--on-not-comparable", "warn", trace, code=0).stdout
    check(training(here / "torch.dcmt", torch="2.15.0"), code=5)
    check(training(here / "steps.dcmt", steps=7), code=5)


def test_a_trace_with_losses_never_passes(here):
    trace = training(here / "lossy.dcmt", lost=3)
    assert check("--junit", "junit.xml", trace, code=6).stdout.startswith("NO VERDICT  ")
    suite = xml.parse(here / "junit.xml").getroot().find("testsuite")
    assert suite.get("errors") == "1"
    check(training(here / "failed.dcmt", exit_text="exit 1"), code=6)
    refused = recorded.tool("check", "--update", "--baseline", "new.json", trace)
    assert refused.returncode == 6 and not (here / "new.json").exists()


def test_what_is_required_and_does_not_run_fails(here):
    text = check("--require", "gathers.eager > 0", training(here / "again.dcmt"), code=1).stdout
    assert "required gathers.eager > 0, but it is 0" in text
    recorded.one_line(check("--require", "gathers", training(here / "third.dcmt"), code=2), 2)
    update = recorded.tool("check", "--update", "--baseline", "x.json", "--require", "gathers > 0", here / "again.dcmt")
    assert update.returncode == 1 and not (here / "x.json").exists()


def test_a_creep_of_updates_is_said(here):
    for month, size in enumerate((2, 3, 4), 1):
        trace = training(here / f"{month}.dcmt", ((14, 4 * MIB), (16, size * MIB)))
        update = recorded.tool("check", "--update", "--date", f"2030-0{month}-01", "--baseline", "gpt.json", trace)
        assert update.returncode == 0, update.stderr
    text = check(training(here / "now.dcmt", ((14, 4 * MIB), (16, 4 * MIB))), code=0).stdout
    assert re.search(r"since +\d{4}-\d\d-\d\d: peak\.first_step \+28\.6 % in all \(7,340,032 then\)", text)


def test_the_commands_that_are_advised_have_the_options_of_this_one(here):
    trace = training(here / "planted.dcmt", PLANTED)
    options = ("--workload", "a name", "--require", "releases.final < 5", "--strict")
    named = recorded.tool("check", "--update", "--workload", "a name", "--baseline", "gpt.json", here / "first.dcmt")
    assert named.returncode == 0, named.stderr
    text = check(*options, trace, code=1).stdout
    shown = "--baseline gpt.json --workload 'a name' --require 'releases.final < 5'"
    assert f"redo    dc-memtrace check {shown} --strict {trace}\n" in text
    assert f"intended? dc-memtrace check --update {shown} {trace}, and commit gpt.json" in text
    # Several traces of one run would count as several recordings.
    assert "--update" not in check(*options, trace, training(here / "worker.dcmt", steps=0), code=1).stdout


def test_bad_baselines_are_one_line(here):
    trace = training(here / "again.dcmt")
    (here / "gpt.json").write_text("<<<<<<< ours\n")
    assert "unsolved merge conflict" in recorded.one_line(check(trace, code=3), 3)
    (here / "gpt.json").write_text('{"baseline": 1, "require": ["gathers"]}')
    assert "'gathers' is no requirement" in recorded.one_line(check(trace, code=3), 3)
    (here / "gpt.json").unlink()
    assert "there is no such baseline" in recorded.one_line(check(trace, code=3), 3)


@pytest.mark.parametrize("options, word", [
    (("--new-anchors",), "--update"),
    (("--update", "--json"), "--json"),
    (("--update", "--strict"), "--strict"),
    (("--update", "--junit", "x.xml"), "--junit"),
    (("--date", "2026-02-30"), "2026-02-30 is no date"),
    (("--recordings", "0"), "--recordings"),
    (("--tolerance", "some"), "neither a share, as 1%, nor bytes"),
])  # fmt: skip
def test_options_that_make_no_sense_are_one_line(here, options, word):
    before = (here / "gpt.json").read_text()
    assert word in recorded.one_line(check(*options, here / "first.dcmt", code=2), 2)
    assert (here / "gpt.json").read_text() == before and not (here / "x.xml").exists()


def command_baseline(path, source):
    path.write_text(json.dumps({"baseline": 1, "command": [sys.executable, "-c", source]}))


def test_a_wrong_requirement_is_said_before_the_command_runs(here):
    command_baseline(here / "gpt.json", "open('ran', 'w')")
    assert "is no requirement" in recorded.one_line(check("--require", "gathers", code=2), 2)
    assert not (here / "ran").exists()


def test_a_stop_ends_the_checks_of_a_folder(here):
    (here / "memory").mkdir()
    command_baseline(here / "memory" / "a.json", "import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    command_baseline(here / "memory" / "b.json", "open('ran', 'w')")
    result = recorded.tool("check", "--baseline", "memory")
    assert result.returncode == 130, result.stderr
    assert "a.json: stopped" in result.stderr and "b.json" not in result.stderr
    assert not (here / "ran").exists()


def test_a_command_that_cannot_be_recorded_says_why(here):
    missing = recorded.one_line(check("--junit", "out.xml", "--", "no_such_program", code=7), 7)
    error = xml.parse(here / "out.xml").getroot().find("testsuite/testcase/error")
    assert "the command failed (exit 127)" in error.get("message")
    assert missing.endswith("so nothing was compared: no_such_program: command not found"), missing
    nothing = check("--", "true", code=6)
    assert nothing.stdout.startswith("NO VERDICT  no process that was followed made a tensor: nothing was recorded\n")


def test_files_beside_the_recordings_are_left_alone(here):
    """The folder for artifacts may contain folders of the same name."""
    mine = here / "out" / "net-1" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    update = recorded.tool("check", "--update", "--recordings", "1", "--artifacts", "out", "--baseline", "net.json", "--",
                           LIFE, "make", 3)
    assert update.returncode == 0, update.stdout + update.stderr
    assert mine.read_text() == "mine" and sorted(path.name for path in mine.parent.iterdir()) == ["mine.txt"]


def test_a_baseline_with_an_odd_name_stays_on_its_line(here):
    (here / "gpt.json").rename(here / "a\n::add-mask::\x1b[31m.json")
    trace = training(here / "planted.dcmt", PLANTED)
    result = recorded.tool("check", "--baseline", "a\n::add-mask::\x1b[31m.json", "--github", "--junit", "junit.xml", trace)
    assert result.returncode == 1, result.stderr
    assert "\x1b" not in result.stdout and "\n::add-mask" not in result.stdout
    assert "a\\x0a::add-mask::\\x1b[31m.json" in xml.parse(here / "junit.xml").getroot().find("testsuite").get("name")


PROGRAM = """
import sys, torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
seen = []
for step in range(6):
    opt.zero_grad()
    out = net(torch.ones(256, 256))
    loss = out.sum()
    loss.backward()
    opt.step()
"""


def test_a_command_is_recorded_and_compared_in_one(here, monkeypatch):
    """Also runs the steps of the GitHub action, in the form of the action."""
    (here / "memory").mkdir()
    (here / "train.py").write_text(PROGRAM)
    update = recorded.tool("check", "--update", "--recordings", "2", "--baseline", "memory/net.json", "--",
                           sys.executable, "train.py")
    assert update.returncode == 0, update.stdout + update.stderr
    assert not (here / "dc-memtrace-check").exists()
    (here / "train.py").write_text(PROGRAM + "    seen.append(out)\n")
    monkeypatch.setenv("PATH", f"{recorded.TOOL.parent}:{recorded.environment()['PATH']}")
    step = subprocess.run([recorded.ROOT / "action" / "check.sh"], capture_output=True, text=True, timeout=300,
                          env=recorded.environment(BASELINE="memory", ARGUMENTS="--recordings 1", COMMAND="",
                                                   GITHUB_STEP_SUMMARY=str(here / "summary.md")))
    assert step.returncode == 1, step.stdout + step.stderr
    assert re.search(r"growth\.step +0 → +262,144 B", step.stdout)
    assert re.search(r"finding 1 \(grows\), train\.py:9 .*held by main[.:] ?seen", step.stdout), step.stdout
    assert re.search(r"^::error file=train\.py,line=9,", step.stdout, re.MULTILINE)
    assert (here / "dc-memtrace-check" / "net.json").exists()
    assert (here / "dc-memtrace-check" / ".gitignore").read_text() == "*\n"
    assert list((here / "dc-memtrace-check" / "net-1").glob("*.dcmt"))
    assert (here / "dc-memtrace.sarif").exists() and "## Memory" in (here / "summary.md").read_text()
    (here / "train.py").write_text(PROGRAM.replace("ones(256, 256)", "ones(96, 256)"))
    assert recorded.tool("check", "--recordings", "1", "--baseline", "memory").returncode == 5
    (here / "train.py").write_text("raise SystemExit(3)\n")
    assert recorded.tool("check", "--baseline", "memory").returncode == 7


def test_a_program_that_keeps_every_parameter_gathered_tests_nothing(here):
    command = ("--recordings", "1", "--", sys.executable, recorded.PROGRAMS / "persistent_layers.py")
    update = recorded.tool("check", "--update", "--baseline", "sharded.json", *command)
    assert update.returncode == 0, update.stderr
    assert recorded.baseline_section(here / "sharded.json")["releases.final"]["count"] == 16
    persistent = recorded.environment(PERSISTENT="1")
    result = recorded.tool("check", "--baseline", "sharded.json", *command, env=persistent)
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.startswith("FAIL  all 16 releases are of persistent parameters: nothing was to be freed")
    assert re.search(r"releases\.final +16 → +0 +did not run", result.stdout), result.stdout
    # From the first day on.
    (trace,) = (here / "dc-memtrace-check" / "sharded-1").glob("*.dcmt")
    first = recorded.tool("check", "--update", "--baseline", "new.json", "--require", "releases.final > 0", trace)
    assert "required releases.final > 0, but it is 0" in recorded.one_line(first, 1)
    assert not (here / "new.json").exists()


def test_options_of_the_action_may_be_quoted(here):
    program = here / "bin" / "dc-memtrace"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    for arguments, words in (("", []), ("--strict", ["--strict"]),
                             ("--require 'gathers.eager > 0' --strict", ["--require", "gathers.eager > 0", "--strict"])):  # fmt: skip
        step = subprocess.run([recorded.ROOT / "action" / "check.sh"], capture_output=True, text=True, timeout=60,
                              env={"PATH": f"{program.parent}:/usr/bin:/bin", "BASELINE": "memory", "ARGUMENTS": arguments,
                                   "COMMAND": "python train.py"})
        assert step.returncode == 0, step.stderr
        shown = step.stdout.splitlines()
        assert shown[-4:] == ["--", "bash", "-c", "python train.py"]
        assert shown[shown.index("dc-memtrace.sarif") + 1:-4] == words
