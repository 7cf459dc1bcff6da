"""Memory that an extension keeps, sampled with --native: the line that allocates, its bytes, and the healthy twins."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import attached
import pytest
import recorded

SOURCE = recorded.PROGRAMS / "native_growth.cpp"
PROGRAM = recorded.PROGRAMS / "native_growth.py"
# By the number under which the extension counts its bytes. What ctypes asks for comes last.
PLACES = ("keep_records", "keep_rows", "keep_lines", "keep_index", "keep_pages")


@pytest.fixture(scope="module")
def extension(tmp_path_factory) -> pathlib.Path:
    library = tmp_path_factory.mktemp("native") / "libgrowth.so"
    subprocess.run(["c++", "-O1", "-g", "-shared", "-fPIC", "-o", library, SOURCE], check=True, timeout=120)
    return library


def lines_of(function: str) -> range:
    """The lines of the function in the source."""
    lines = SOURCE.read_text().splitlines()
    first = next(i for i, line in enumerate(lines, 1) if f" {function}(" in line)
    return range(first, next(i for i, line in enumerate(lines, 1) if i > first and line == "}") + 1)


def findings(folder: pathlib.Path) -> list[dict]:
    (trace,) = recorded.report(folder)
    return trace["findings"]


def test_what_an_extension_keeps_is_named_with_its_line(tmp_path, extension):
    job = recorded.record(tmp_path / "out", PROGRAM, extension, "leaks", 60, flags=("--native",))
    *kept, asked = map(int, job.stdout.split())
    found = {each["native"]["place"]["function"]: each for each in findings(tmp_path / "out") if each["rule"] == "grows_native"}
    assert set(PLACES) <= set(found), list(found)
    for function, true in zip(PLACES, kept):
        growth = found[function]["native"]
        # By construction some 400 samples: a quarter is more than five standard errors.
        assert 0.75 * true < growth["live"]["bytes"] < 1.25 * true, (function, growth, true)
        assert growth["live"]["low_bytes"] < growth["live"]["bytes"] < growth["live"]["high_bytes"]
        assert growth["unit"] == "step" and 0.7 * true / 60 < growth["per_round_bytes"] < 1.3 * true / 60
        assert growth["place"]["object"] == str(extension) and "native_growth.py" in growth["place"]["python"]
        file, line = growth["place"]["source"].rsplit(":", 1)
        assert file.endswith("native_growth.cpp") and int(line) in lines_of(function), growth["place"]
    # malloc that ctypes has looked up, without an extension: no line of C, but one of Python.
    rest = [each["native"] for name, each in found.items() if name not in PLACES]
    assert any("ask_for_more" in each["place"]["python"] and 0.75 * asked < each["live"]["bytes"] < 1.25 * asked for each in rest), rest
    assert not [each for each in findings(tmp_path / "out") if each["rule"] == "grows_outside"]  # the lines explain it
    text = recorded.tool("report", tmp_path / "out").stdout
    assert "GROWS  keep_records" in text and "Memory of C and C++ grows by" in text and "with 95 % between" in text
    view = recorded.tool("show", "native", tmp_path / "out").stdout
    assert "keep_rows" in view and "one for each" in view
    (shown,) = json.loads(recorded.tool("show", "native", tmp_path / "out", "--json").stdout)["traces"]
    assert shown["missed"] == 0 and shown["live"]["bytes"] >= sum(kept) / 2


def test_healthy_programs_are_silent(tmp_path, extension):
    recorded.record(tmp_path / "out", PROGRAM, extension, "healthy", 60, flags=("--native",))
    assert findings(tmp_path / "out") == []
    (shown,) = json.loads(recorded.tool("show", "native", tmp_path / "out", "--json").stdout)["traces"]
    buffers = [each for each in shown["places"] if each["place"]["function"] == "use_buffers"]
    for each in buffers:  # what is freed is not alive
        assert each["live"]["bytes"] < 0.1 * each["made_bytes"]


def test_a_running_program_is_sampled_and_left_as_it_was(tmp_path, extension):
    command = [recorded.TOOL, "run", "--standby", "--", sys.executable, PROGRAM, extension, "few", "100000"]
    program = subprocess.Popen(command, env=recorded.environment(), stdout=subprocess.DEVNULL)
    try:
        done = recorded.tool("attach", program.pid, "--wait", "--native", "--steps", 60, "-q", "-o", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        assert attached.hooks_in(program.pid) == []
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()
    (finding,) = [each for each in findings(tmp_path / "out") if each["rule"] == "grows_native"]
    growth = finding["native"]
    assert growth["place"]["function"] == "keep_records" and growth["unit"] == "step"
    # How many samples there are depends on what the program still imports then: the finding's own error counts.
    standard_error = (growth["live"]["high_bytes"] - growth["live"]["low_bytes"]) / (2 * 1.96)
    assert standard_error < 0.2 * growth["live"]["bytes"]
    assert abs(growth["per_round_bytes"] - 96_000) < 5 * standard_error / growth["rounds"]


def test_without_the_option_nothing_is_loaded(tmp_path):
    program = "import torch; kept = torch.ones(100_000); print([line for line in open('/proc/self/maps') if 'libdcmt_native' in line])"
    job = recorded.record(tmp_path / "out", "-c", program)
    assert job.stdout.strip() == "[]"
    assert "were not sampled" in recorded.tool("show", "native", tmp_path / "out").stdout
