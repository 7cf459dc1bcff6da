"""An installation that was moved: the providers that it loads, and those that are prepared on the machine."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import proc
import pytest
import recorded
import torch
from life_safety import LIFE
from proc import until

TORCH = re.match(r"\d+\.\d+", torch.__version__)[0]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
JOB = (sys.executable, "-c", "import torch; kept = torch.ones(1 << 18); print(kept.sum().item())")
JOB_IN_CPP = (LIFE, "make", 3)  # where Python does not matter, which needs seconds to import torch
COMPILER = recorded.PROGRAMS / "fake_compiler.py"


class Installation:
    """An installed tree, with its own home folder for the cache."""

    def __init__(self, root: pathlib.Path, home: pathlib.Path) -> None:
        self.root, self.home = root, home
        self.libraries = root / "lib" / "dcmt"
        self.torch_provider = self.libraries / f"torch-{TORCH}" / "libdcmt_torch.so"
        self.cache = home / ".cache" / "dc-memtrace"

    def environment(self, **more: str) -> dict[str, str]:
        inherited = {name: value for name, value in recorded.environment().items() if name != "XDG_CACHE_HOME"}
        return {**inherited, "HOME": str(self.home), **more}

    def command(self, *words: object) -> list[str]:
        return [str(self.root / "bin" / "dc-memtrace"), *map(str, words)]

    def tool(self, *words: object, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=180, env=self.environment(**more))

    def record(self, folder: pathlib.Path, job: tuple = JOB_IN_CPP) -> subprocess.CompletedProcess:
        """Records the job, which must run as it does without the tool."""
        result = self.tool("run", "-o", folder, "--", *job)
        assert (result.returncode, result.stdout) == (0, {JOB: "262144.0\n", JOB_IN_CPP: "3\n"}[job]), result.stderr
        return result

    def prepared_folder(self) -> pathlib.Path:
        """The folder of a prepared provider for the torch of the tests."""
        digest = (self.root / "share" / "dcmt" / "source" / "digest").read_text().strip()
        notes = subprocess.run(["readelf", "-n", pathlib.Path(torch.__file__).parent / "lib/libtorch_cpu.so"], capture_output=True, text=True)
        return self.cache / "providers" / digest / re.search(r"Build ID: (\w+)", notes.stdout)[1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> pathlib.Path:
    """A tree that was installed to one folder and moved to another."""
    folder = tmp_path_factory.mktemp("installation")
    subprocess.run(["cmake", "--install", recorded.BUILD, "--prefix", folder / "made", "--strip"], check=True, stdout=subprocess.DEVNULL)
    return (folder / "made").rename(folder / "carried")


@pytest.fixture
def installed(tree, tmp_path) -> Installation:
    home = tmp_path / "home"
    home.mkdir()
    return Installation(tree, home)


@pytest.fixture
def without_provider(installed) -> Installation:
    """An installation with providers only for other versions of torch."""
    away = installed.root / "away"
    installed.torch_provider.parent.rename(away)
    yield installed
    away.rename(installed.torch_provider.parent)


def diagnostics(folder: pathlib.Path) -> list[str]:
    (trace,) = recorded.traces(folder)
    texts = recorded.query(trace, "SELECT string.text FROM diagnostic JOIN string ON string.id = diagnostic.text")
    return [text for (text,) in texts]


def test_it_records_where_it_was_carried_to(installed, tmp_path):
    assert installed.record(tmp_path / "out", JOB).stderr == ""
    (trace,) = recorded.traces(tmp_path / "out")
    assert recorded.query(trace, "SELECT count(*) FROM block WHERE bytes = 1048576") == [(1,)]
    assert recorded.query(trace, "SELECT count(*) FROM frame")[0][0] > 0, "the provider for this CPython is there"
    report = installed.tool("report", tmp_path / "out")
    assert "Peak 1.0 MiB on cpu" in report.stdout, report.stderr
    assert list(installed.home.iterdir()) == [], "nothing is cached unasked"


MARKS = """
#include <dcmt/marks.h>
#include <stdio.h>
int main(void) { puts(dcmt_get_marks_table() == NULL ? "alone" : "recorded"); }
"""


def test_a_program_finds_the_header_of_marks(installed, tmp_path):
    (tmp_path / "marks.c").write_text(MARKS)
    lines = ["cmake_minimum_required(VERSION 3.25)", "project(user C)", "find_package(dc-memtrace 0.1 REQUIRED)",
             "add_executable(user marks.c)", "target_link_libraries(user dc-memtrace::marks)"]
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    build = tmp_path / "build"
    for command in (["cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={installed.root}"], ["cmake", "--build", build]):
        subprocess.run(command, check=True, capture_output=True)
    assert subprocess.run([build / "user"], capture_output=True, text=True).stdout == "alone\n"


def test_manual_and_completion_have_the_commands(installed):
    share = installed.root / "share"
    page = (share / "man/man1/dc-memtrace-doctor.1").read_text()
    assert "\\-\\-prepare" in page and "Build what recording needs" in page
    assert ".TP\n.B report\n" in (share / "man/man1/dc-memtrace.1").read_text()
    assert (share / "man/man1/dc-memtrace-show-peak.1").exists()
    assert "#compdef dc-memtrace\n" in (share / "zsh/site-functions/_dc-memtrace").read_text()

    def completed(*words: str) -> list[str]:
        script = share / "bash-completion/completions/dc-memtrace"
        typed = " ".join(f"'{word}'" for word in words)
        text = f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _dc_memtrace; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True).stdout.split()

    assert completed("dc-memtrace", "rep") == ["report", "reproduce"]
    assert completed("dc-memtrace", "doctor", "--pre") == ["--prepare"]
    assert completed("dc-memtrace", "show", "pe") == ["peak"]
    assert completed("dc-memtrace", "run", "--", "python", "--pre") == []


def test_a_torch_without_a_provider_is_refused_by_name(without_provider, tmp_path):
    result = without_provider.record(tmp_path / "out")
    (line,) = result.stderr.splitlines()
    assert f"this installation has no provider for torch {TORCH}, which runs here: nothing is recorded" in line
    assert line.endswith("Next, with the Python of this job: dc-memtrace doctor --prepare --python PYTHON")
    assert recorded.traces(tmp_path / "out") == []
    doctor = without_provider.tool("doctor", "--python", sys.executable)
    assert doctor.returncode == 4
    assert f"none for {TORCH}\n" in doctor.stdout or "none is installed" in doctor.stdout
    assert f"→ dc-memtrace doctor --prepare --python {sys.executable}" in doctor.stdout


def test_a_cpython_without_a_provider_costs_stacks_only(installed, tmp_path):
    provider = installed.libraries / f"python-{PYTHON}"
    away = provider.rename(installed.root / "away")
    try:
        installed.record(tmp_path / "out", JOB)
    finally:
        away.rename(provider)
    assert any(f"no provider for CPython {PYTHON}: Python stacks and variables are not recorded" in text for text in diagnostics(tmp_path / "out"))


def prepared_by_hand(installation: Installation) -> pathlib.Path:
    folder = installation.prepared_folder()
    folder.mkdir(parents=True)
    shutil.copy(installation.root / "away" / "libdcmt_torch.so", folder)
    return folder


def test_a_prepared_provider_is_found_by_the_build_id_of_torch(without_provider, tmp_path):
    prepared_by_hand(without_provider)
    without_provider.record(tmp_path / "out")
    assert len(recorded.traces(tmp_path / "out")) == 1
    assert "prepared for exactly this torch" in without_provider.tool("doctor", "--python", sys.executable).stdout


def test_a_provider_of_other_sources_or_that_others_can_write_to_is_not_loaded(without_provider, tmp_path):
    folder = prepared_by_hand(without_provider)
    other_sources = folder.parent.rename(folder.parents[1] / "0123456789abcdef")
    assert "no provider for torch" in without_provider.record(tmp_path / "a").stderr
    other_sources.rename(folder.parent).chmod(0o777)
    assert "no provider for torch" in without_provider.record(tmp_path / "b").stderr


def prepare(installation: Installation, **more: str) -> subprocess.CompletedProcess:
    return installation.tool("doctor", "--prepare", "--python", sys.executable, **more)


def test_prepare_has_nothing_to_do_where_torch_can_be_recorded(installed):
    result = prepare(installed, CXX="/nonexistent/compiler")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"torch {torch.__version__.split('+')[0]} of {sys.executable}: can be recorded, there is nothing to prepare.\n"


def test_prepare_without_a_compiler_says_so_in_one_line(without_provider):
    result = prepare(without_provider, CXX="/nonexistent/compiler")
    line = recorded.one_line(result, 4)
    assert "there is no C++ compiler (/nonexistent/compiler): install g++ (Debian, Ubuntu: apt install g++), or name one in CXX" in line


def fake_compiler(installation: Installation, folder: pathlib.Path) -> dict[str, str]:
    folder.mkdir()
    script = folder / "g++"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -S {COMPILER} \"$@\"\n")
    script.chmod(0o755)
    return {"CXX": str(script), "FAKE_LOG": str(folder), "FAKE_PROVIDER": str(installation.root / "away" / "libdcmt_torch.so")}


@recorded.for_soak
def test_prepare_builds_once_for_all_who_ask_and_clean_leaves_nothing(without_provider, tmp_path):
    stopped = without_provider.prepared_folder().parent / "building"
    stopped.mkdir(parents=True)  # of a preparation that was killed
    compiler = fake_compiler(without_provider, tmp_path / "compiler")
    command = without_provider.command("doctor", "--prepare", "--python", sys.executable)
    environment = without_provider.environment(**compiler)
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    said = [rank.communicate(timeout=180) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    first, second = sorted((out for out, _ in said), key=lambda out: "nothing to prepare" in out)
    assert "its provider was built in" in first and "nothing to prepare" in second
    assert (tmp_path / "compiler" / "linked").read_text() == "once\n"
    folder = without_provider.prepared_folder()
    assert sorted(path.name for path in folder.iterdir()) == ["libdcmt_torch.so", "torch.layout"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert (folder.stat().st_mode & 0o777) == 0o700

    without_provider.record(tmp_path / "out")
    assert len(recorded.traces(tmp_path / "out")) == 1

    cleaned = without_provider.tool("doctor", "--clean")
    assert (cleaned.returncode, cleaned.stdout) == (0, f"removed {without_provider.cache}.\n")
    assert list((without_provider.home / ".cache").iterdir()) == []
    assert without_provider.tool("doctor", "--clean").stdout == "nothing is cached.\n"


def test_a_preparation_that_is_ended_leaves_no_compiler_behind(without_provider, tmp_path):
    """The next preparation builds in the same place."""
    compiler = tmp_path / "g++"
    # A compiler without link-time optimization that does not end for any other input.
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *across*) exit 1;; esac\necho $$ >> {tmp_path}/compilers\nexec sleep 600\n')
    compiler.chmod(0o755)
    command = without_provider.command("doctor", "--prepare", "--python", sys.executable)
    doctor = subprocess.Popen(command, env=without_provider.environment(CXX=str(compiler)), stderr=subprocess.PIPE, text=True)
    until(lambda: (tmp_path / "compilers").exists() or doctor.poll() is not None)
    assert doctor.poll() is None, doctor.communicate()
    doctor.kill()
    doctor.wait()
    until(lambda: not any(proc.is_running(int(pid)) for pid in (tmp_path / "compilers").read_text().split()))


@recorded.for_soak
def test_prepare_does_without_link_time_optimization_where_the_compiler_has_none(without_provider, tmp_path):
    compiler = fake_compiler(without_provider, tmp_path / "compiler")
    result = prepare(without_provider, **compiler, FAKE_WITHOUT_LTO="1")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "compiler" / "linked").read_text() == "once\n"


@recorded.for_soak
def test_a_provider_that_refuses_its_torch_is_not_kept(without_provider, tmp_path):
    compiler = fake_compiler(without_provider, tmp_path / "compiler")
    result = prepare(without_provider, **compiler, DC_MEMTRACE_TEST_SELF_CHECK="fail")
    assert (result.returncode, result.stdout) == (4, "")
    assert "a provider was built, but it refuses this torch: " in result.stderr.splitlines()[-1]
    assert list(without_provider.prepared_folder().parent.iterdir()) == []


def test_a_cache_folder_that_cannot_be_made(installed):
    line = recorded.one_line(prepare(installed, XDG_CACHE_HOME="/dev/null/cache"), 4)
    assert "/dev/null/cache/dc-memtrace: cannot be made: " in line and "XDG_CACHE_HOME" in line
