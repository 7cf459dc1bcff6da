"""`check` on programs that are the same, recorded again and again. DCMT_CHECK_REPEATS: how often (1); scripts/soak: 20."""

from __future__ import annotations

import collections
import json
import os
import sys

import pytest
import recorded

REPEATS = int(os.environ.get("DCMT_CHECK_REPEATS", "1"))
STEADY = [sys.executable, recorded.PROGRAMS / "resnet18.py", "--steps", "6"]
NOISY = [sys.executable, recorded.PROGRAMS / "noisy_training.py"]


def check(folder, *arguments, **environment):
    result = recorded.tool("check", "--json", "--baseline", folder / "net.json", *arguments, cwd=folder, timeout=900,
                           env=recorded.environment(**environment))
    assert result.stdout.startswith("{"), result.stderr
    (verdict,) = json.loads(result.stdout)["checks"]
    return result.returncode, verdict, result.stdout + result.stderr


def baseline_of(folder, command):
    """The facts of a new baseline, with their bytes and tolerances."""
    result = recorded.tool("check", "--update", "--baseline", folder / "net.json", "--", *command, cwd=folder, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    return {name: fact for name, fact in recorded.baseline_section(folder / "net.json").items() if "bytes" in fact}


def test_a_deterministic_program_is_the_same_to_the_byte(tmp_path):
    facts = baseline_of(tmp_path, STEADY)
    assert len(facts) > 4 and not any("tolerance" in fact for fact in facts.values())
    for _ in range(REPEATS):
        code, verdict, said = check(tmp_path, "--recordings", "1")
        assert code == 0 and {fact["change"] for fact in verdict["facts"]} == {0}, said


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noisy")
    return folder, baseline_of(folder, NOISY)


def test_noise_that_the_recordings_had_passes(noisy):
    folder, facts = noisy
    assert sum("tolerance" in fact for fact in facts.values()) > 2
    failed = []
    for _ in range(REPEATS):
        code, _, said = check(folder)
        if code:
            failed.append(said)
    assert not failed, f"{len(failed)} of {REPEATS}\n" + "\n".join(failed)


def test_twice_the_noise_fails(noisy):
    """Some fact fails each time. Noise decides which one: a single fact's spread is known from only a few recordings, so that noise
    can hide the planted bytes in it."""
    folder, facts = noisy
    planted = 2 * facts["peak.forward"]["tolerance"]
    names = collections.Counter()
    for _ in range(REPEATS):
        code, verdict, said = check(folder, PLANTED_BYTES=str(planted))
        assert code == 1, said
        failed = [fact for fact in verdict["facts"] if fact["failed"]]
        assert failed and all(fact["change"] > fact["tolerance"] for fact in failed), said
        assert verdict["recordings"] == (5 if all(fact["tolerance"] > 0 for fact in failed) else 3), said
        names.update(fact["name"] for fact in failed)
    print(f"{planted} bytes planted, {REPEATS} checks failed by", dict(names))
