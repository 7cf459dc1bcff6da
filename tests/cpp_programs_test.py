"""Programs of C++ without Python: what grows is named by the line that makes it, and a healthy twin has no finding."""

from __future__ import annotations

import pytest
import recorded

KINDS = ["mlp", "conv", "lstm", "gan", "loader", "function", "threads"]
SOURCE = recorded.PROGRAMS / "libtorch" / "kinds.cpp"
PROGRAM = recorded.BUILD / "bin" / "libtorch_kinds"
WITHOUT_LINES = recorded.BUILD / "bin" / "libtorch_kinds_without_lines"
STEPS = 40
# What holds what grows, and where it is declared. The others are found where the compiler has left a place for them.
HOLDERS = {
    "mlp": ("mlp: losses", "std::vector<torch::Tensor> losses;"),
    "lstm": ("lstm: outputs", "std::map<int, torch::Tensor> outputs;"),
    "gan": ("libtorch_kinds: (anonymous namespace)::g_samples", "std::vector<torch::Tensor> g_samples;"),
    "loader": ("loader: seen", "std::vector<torch::Tensor> seen;"),
}


def line_with(end: str) -> int:
    """The only line of the programs that ends like this."""
    (line,) = [number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith(end)]
    return line


def line_of(kind: str) -> int:
    """The line that makes what this kind of program keeps."""
    return line_with(f"// {kind}")


def report(folder, *command) -> dict:
    result = recorded.tool("run", "-o", folder, "--", *command)
    assert result.returncode == 0, result.stdout + result.stderr
    (trace,) = recorded.report(folder)
    return trace


def sites(finding: dict) -> list[str]:
    return [site["site"] for site in finding["growth"]["sites"]]


@pytest.mark.parametrize("kind", recorded.some(KINDS, 3))
def test_what_grows_is_named_by_its_line(kind, tmp_path):
    trace = report(tmp_path / "out", PROGRAM, kind, "kept", STEPS)
    first = trace["findings"][0]
    assert first["rule"] == "grows"
    assert first["growth"]["steps"] >= STEPS - 2
    assert any(f"kinds.cpp:{line_of(kind)} " in site for site in sites(first)), sites(first)
    if kind in HOLDERS:
        holder, declared = HOLDERS[kind]
        growth = first["growth"]
        assert (growth["holder"], growth["place"]) == (holder, f"kinds.cpp:{line_with(declared)}")


@pytest.mark.parametrize("kind", recorded.some(KINDS, 3))
def test_a_healthy_program_has_no_finding(kind, tmp_path):
    trace = report(tmp_path / "out", PROGRAM, kind, "healthy", STEPS)
    assert trace["findings"] == []
    assert len(trace["steps"]) >= STEPS - 2


def test_without_debug_information_the_function_is_named(tmp_path):
    trace = report(tmp_path / "out", WITHOUT_LINES, "gan", "kept", STEPS)
    first = trace["findings"][0]
    assert first["rule"] == "grows"
    assert any("libtorch_kinds_without_lines: gan +0x" in site for site in sites(first)), sites(first)
