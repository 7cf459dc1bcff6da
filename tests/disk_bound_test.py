"""--max-disk holds for every program, and the report says what was omitted. Full disks and devices are reported."""

from __future__ import annotations

import subprocess
import sys

import life_safety
import pytest
import recorded
from life_safety import LIFE

MIB = 1 << 20
# None of them has a step. Each makes far more rows than the limit allows.
PROGRAMS = {
    "all_alive": "k = [torch.ones(4) for _ in range(60_000)]",
    "short_lives": "m = torch.nn.Linear(16, 16); x = torch.ones(2, 16)\nfor _ in range(20_000): m(x)",
    "generated_code": (
        "a = torch.ones(20_000)\n"
        "for i in range(10_000): exec(compile(f'def f{i}(x):\\n  return x + 1\\nb = f{i}(a)', f'<gen{i}>', 'exec'), {'a': a})"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bound_holds_without_steps(tmp_path, name):
    program = tmp_path / "program.py"
    program.write_text(f"import torch\ntorch.set_num_threads(1)\nwith torch.no_grad():\n    exec({PROGRAMS[name]!r})\nprint('done')\n")
    folder = tmp_path / "out"
    bound = 2 * MIB
    result = recorded.record(folder, program, detail="full", flags=("--max-disk", bound))
    assert result.stdout == "done\n"
    trace = life_safety.the_trace(folder)
    assert trace.stat().st_size <= bound
    report = recorded.tool("report", folder)
    assert report.returncode == 0
    left_out = recorded.query(trace, "SELECT coalesce(sum(count), 0) FROM loss WHERE reason = 'over --max-disk'")[0][0]
    assert ("over --max-disk" in report.stdout) == (left_out > 0)
    assert left_out > 0 or "kept" in report.stdout
    # Counts are exact, whatever rows are kept.
    (counted,) = recorded.query(trace, "SELECT sum(storages) FROM interval")[0]
    assert counted >= {"all_alive": 60_000, "short_lives": 20_000, "generated_code": 10_000}[name]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "out"
    result = life_safety.watched(recorded.TOOL, "run", "-o", folder, "--", LIFE, "make", 3)
    assert result.returncode == 0
    return folder


@pytest.mark.parametrize(
    "command", ["report", "report --json", "show curve", "show curve --json", "show peak", "show live", "doctor", "lint"]
)
def test_a_full_device(run_folder, command, tmp_path):
    if command == "lint":
        (tmp_path / "code.py").write_text("x = 1\n")
    words = [*command.split(), *({"doctor": [], "lint": [tmp_path / "code.py"]}.get(command, [run_folder]))]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [recorded.TOOL, *words], stdout=full, stderr=subprocess.PIPE, text=True,
            env=recorded.environment(DCMT_PYTHON=sys.executable), timeout=life_safety.WATCHDOG,
        )  # fmt: skip
    assert result.returncode == 3, result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("dc-memtrace: standard output: ")


def test_a_closed_output(run_folder):
    result = subprocess.run(
        ["sh", "-c", f"{recorded.TOOL} report {run_folder} >&-"], stderr=subprocess.PIPE, text=True,
        env=recorded.environment(), timeout=life_safety.WATCHDOG,
    )  # fmt: skip
    assert (result.returncode, len(result.stderr.splitlines())) == (3, 1)
