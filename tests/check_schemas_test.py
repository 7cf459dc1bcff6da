"""SARIF and JUnit XML from `check` are valid against their schemas for every outcome."""

from __future__ import annotations

import copy
import json
import subprocess

import pytest
import recorded
from check_test import FORWARD, MIB, PLANTED, training
from json_schema import Schema

SCHEMAS = recorded.ROOT / "tests" / "schemas"
SARIF = Schema(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))

# The recording that is checked against the baseline, and the exit code.
OUTCOMES = {
    "passed": ({}, (), 0),
    "failed": ({"forward": PLANTED}, (), 1),
    "vacuous": ({}, ("--require", "gathers > 0"), 1),
    "gained": ({"forward": FORWARD[:1] + ((16, MIB),)}, ("--strict",), 1),
    "another torch": ({"torch": "2.12.0"}, (), 5),
    "another torch, warned of": ({"torch": "2.12.0"}, ("--on-not-comparable=warn",), 0),
    "records lost": ({"lost": 3}, (), 6),
}


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """check(name): writes SARIF and JUnit XML of that outcome."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_REF", "GITHUB_STEP_SUMMARY", "CI_COMMIT_BRANCH"):
        monkeypatch.delenv(name, raising=False)
    result = recorded.tool("check", "--update", "--baseline", "gpt.json", training(tmp_path / "first.dcmt"))
    assert result.returncode == 0, result.stdout + result.stderr

    def check(name: str):
        changes, options, code = OUTCOMES[name]
        trace = training(tmp_path / "now.dcmt", **changes)
        result = recorded.tool("check", "--baseline", "gpt.json", *options, "--junit", "junit.xml", "--sarif", "check.sarif",
                               trace)
        assert result.returncode == code, result.stdout + result.stderr
        return tmp_path / "check.sarif", tmp_path / "junit.xml"

    return check


def xml_violations(path):
    done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", SCHEMAS / "junit-10.xsd", path],
                          capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("name", OUTCOMES)
def test_both_are_valid(name, checked):
    sarif, junit = checked(name)
    assert SARIF.violations(json.loads(sarif.read_text())) == []
    assert xml_violations(junit) == ""


def test_what_is_not_valid_is_found(checked):
    sarif, junit = checked("failed")
    document = json.loads(sarif.read_text())
    (run,) = document["runs"]
    assert run["results"][0]["locations"]

    def broken(change):
        other = copy.deepcopy(document)
        change(other["runs"][0])
        return SARIF.violations(other)

    assert broken(lambda run: run.pop("tool"))
    assert broken(lambda run: run["results"][0].pop("message"))
    assert broken(lambda run: run["results"][0].update(level="fatal"))
    assert broken(lambda run: run["results"][0].update(severity=3))
    assert broken(lambda run: run["results"].append(3))
    assert broken(lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0))
    text = junit.read_text()
    for old, new in (("<testcase ", "<testcase colour=\"red\" "), ("<testcase ", "<case "), (' tests="', ' proofs="')):
        assert old in text
        changed = text.replace(old, new).replace("</testcase>", "</case>" if new == "<case " else "</testcase>")
        junit.write_text(changed)
        assert xml_violations(junit), new
