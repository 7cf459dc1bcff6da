"""Attaching to a training on a GPU with --kernels and without: what is seen, and that it trains as if nobody had come."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import pytest
import recorded
from attached import NOTES, figures, hooks_in
from attached_test import CYCLES, ENVIRONMENT
from proc import until

pytestmark = pytest.mark.gpu
PROGRAM = recorded.PROGRAMS / "attached_kernels.py"
ANOTHER = "another CUPTI user"
STAYS = "CUPTI stays initialized"
STARTS = pytest.mark.parametrize("start", [("run", "--standby", "--"), ()], ids=["standby", "entered"])


class Training:
    """A program that runs until it is asked to end."""

    def __init__(self, folder, *start: str) -> None:
        folder.mkdir()
        self.folder = folder
        begin = (recorded.TOOL, *start) if start else ()
        self.process = subprocess.Popen([*begin, sys.executable, PROGRAM, folder], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.pid = self.process.pid

    def steps(self) -> int:
        return int((self.folder / "steps").read_text()) if (self.folder / "steps").exists() else 0

    def make(self, steps: int) -> None:
        """Returns when the program has made so many more steps."""
        wanted = self.steps() + steps
        until(lambda: self.steps() >= wanted or self.process.poll() is not None)
        assert self.process.poll() is None

    def attach(self, trace, *flags: object) -> str:
        """Attaches, leaves again, and returns the messages of the tool."""
        result = recorded.tool("attach", self.pid, "-q", "-o", trace, *flags)
        assert result.returncode == 0, result.stderr
        assert hooks_in(self.pid) == []
        (each,) = recorded.traces(trace)
        meta = recorded.meta(each)
        assert (meta["state"], meta["exit"], meta["lost_deaths"]) == ("finished", "still running", 0)
        return result.stderr

    def end(self) -> dict:
        (self.folder / "end").touch()
        out, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0
        return json.loads(out)


@contextlib.contextmanager
def training(folder, *start: str):
    program = Training(folder, *start)
    try:
        program.make(3)
        yield program
    finally:
        program.process.kill()
        program.process.wait()


def plain(folder, *arguments: object) -> dict:
    """The results of a run that nobody attaches to."""
    folder.mkdir()
    done = recorded.python(PROGRAM, folder, *arguments, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def trained(result: dict) -> dict:
    return {name: result[name] for name in ("losses", "parameters", "total", "copied")}


def readers(release: dict) -> list[str]:
    return [read["name"] for read in release["reads"] if read["by_kernel"]]


def whole(trace) -> list[dict]:
    """Releases that were recorded from the gather to the storage's end. A recording begins between two marks of the program, and the
    release that comes then has no gather."""
    releases = [each for each in recorded.releases(trace) if each["final"] and not each["no_gather"]]
    return releases[:-1]


def notes(trace) -> str:
    (each,) = recorded.traces(trace)
    return str(recorded.query(each, NOTES))


def launch_rows(trace) -> int:
    (each,) = recorded.traces(trace)
    return recorded.query(each, "SELECT count(*) FROM launches")[0][0]


@STARTS
@pytest.mark.parametrize("detail", ["lifetimes", "full"])
def test_kernels_of_an_attached_session_are_those_that_the_profiler_sees(tmp_path, start, detail):
    after_release = plain(tmp_path / "twin", 3, "--after-release")["after_release"]
    assert sum("late_read" in name for name in after_release) == 1
    assert sum("Memcpy DtoH" in name for name in after_release) == 1
    with training(tmp_path / "program", *start) as program:
        said = program.attach(tmp_path / "with", "--kernels", "--duration", "3s", "--detail", detail)
        assert said == ""
        releases = whole(tmp_path / "with")
        assert len(releases) >= 5
        for release in releases:
            kernel, copy = readers(release)
            assert kernel == "late_read" and copy.startswith("cuMemcpy"), release
            # CUPTI is there before the first of them: nothing is missed.
            assert release["launches"]["all_the_time"]
            assert release["launches"]["seen"] == len(after_release)
        assert STAYS in notes(tmp_path / "with")
        assert ANOTHER not in notes(tmp_path / "with")
        assert program.attach(tmp_path / "without", "--duration", "2s", "--detail", detail) == ""
        releases = whole(tmp_path / "without")
        assert len(releases) >= 5 and [readers(release) for release in releases] == [[]] * len(releases)
        assert launch_rows(tmp_path / "without") == 0
        assert "kernels" not in notes(tmp_path / "without") and "CUPTI" not in notes(tmp_path / "without")
        result = program.end()
    assert trained(plain(tmp_path / "plain", len(result["losses"]))) == trained(result)


def test_it_is_as_if_nobody_had_come(tmp_path):
    """Again and again, with kernels and without by turns."""
    with training(tmp_path / "program") as program:
        after = []
        for number in range(CYCLES):
            kernels = number % 2 == 0
            trace = tmp_path / f"trace{number}"
            flags = ["--kernels"] if kernels else []
            flags += ["--no-owners"] if number % 4 > 1 else []
            assert program.attach(trace, "--steps", 3, "--detail", ("full", "lifetimes")[number // 2 % 2], *flags) == ""
            names = {name for release in whole(trace) for name in readers(release)}
            # The program finds the agent a second after the first attach.
            if number > 1:
                assert ("late_read" in names) == kernels, names
            assert (launch_rows(trace) > 0) == kernels
            program.make(2)
            after.append(figures(program.pid))
        result = program.end()
    settled = after[min(4, len(after) - 1) :]
    print(settled[0], settled[-1])
    for name, most in {"threads": 0, "descriptors": 0, "mappings": 8}.items():
        assert settled[-1][name] - settled[0][name] <= most, (name, settled)
    assert trained(plain(tmp_path / "plain", len(result["losses"]))) == trained(result)


def test_a_profiler_that_was_there_first_stays(tmp_path):
    with training(tmp_path / "program") as program:
        (program.folder / "profile").touch()
        program.make(3)
        said = program.attach(tmp_path / "trace", "--kernels", "--duration", "3s")
        assert len(said.splitlines()) == 1 and ANOTHER in said
        assert ANOTHER in notes(tmp_path / "trace")
        releases = whole(tmp_path / "trace")
        assert len(releases) >= 5, "all else is recorded"
        assert [readers(release) for release in releases] == [[]] * len(releases)
        program.make(3)
        (program.folder / "profile").unlink()
        program.make(3)
        result = program.end()
    profiled = result["profiled"]
    assert profiled["steps"] > 5 and profiled["seen"].count("late_read") == profiled["steps"]


def test_a_profiler_that_comes_later_gets_its_place(tmp_path):
    with training(tmp_path / "program") as program:
        program.attach(tmp_path / "first", "--duration", "2s")  # from here on the program finds the agent at once
        attached = subprocess.Popen(
            [recorded.TOOL, "attach", str(program.pid), "-q", "--kernels", "-o", tmp_path / "trace"], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        )  # fmt: skip
        until(lambda: recorded.begun(tmp_path / "trace") or attached.poll() is not None)
        program.make(5)
        (program.folder / "profile").touch()
        program.make(5)
        (program.folder / "profile").unlink()
        program.make(3)
        assert recorded.tool("detach", program.pid).returncode == 0
        _, said = attached.communicate(timeout=120)
        assert (attached.returncode, said) == (0, "")
        assert hooks_in(program.pid) == []
        result = program.end()
    profiled = result["profiled"]
    assert profiled["steps"] > 3 and profiled["seen"].count("late_read") == profiled["steps"]
    seen = [bool(readers(release)) for release in whole(tmp_path / "trace")]
    assert seen[0] and not seen[-1]
    assert seen == sorted(seen, reverse=True), "it never gives it back"
    assert ANOTHER in notes(tmp_path / "trace")
