"""What a load, a save, a cast or a copy has twice is named, with the peak without one; a twin that has it once is silent."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "duplicates.py"
PARAMETERS = 4 * (700 * 128 + 128 * 384 + 384 * 256 + 256 * 128)  # bytes of the weights of `net`
WEIGHTS = 6 * 4 * 256 * 256  # of `alike`

# Bytes of the set that ends first, and words of the lines that made the two.
CASES = {
    "save": (PARAMETERS, "save", "net"),
    "load": (PARAMETERS, "load", "net"),
    "load_alike": (WEIGHTS, "load", "alike"),
    "load_first": (PARAMETERS, "net", "load_first"),
    "load_optimizer": (2 * PARAMETERS, "load_optimizer", "load_optimizer"),
    "save_deep": (PARAMETERS, "save_deep", "net"),
    "save_half": (PARAMETERS // 2, "save_half", "net"),
    "cast": (PARAMETERS, "net", "cast"),
    "widen": (PARAMETERS, "widen", "net"),
    "second_model": (PARAMETERS, "second_model", "second_model"),
    "evaluate_copy": (PARAMETERS, "evaluate_copy", "net"),
    "masters": (PARAMETERS, "masters", "net"),
}


@pytest.mark.parametrize("case", recorded.some(CASES, of=len(CASES)))
def test_a_duplicate_is_named_and_its_twin_is_silent(case, tmp_path):
    recorded.record(tmp_path / "out", PROGRAM, case)
    recorded.record(tmp_path / "twin", PROGRAM, case, "twin")
    (report,) = recorded.report(tmp_path / "out")
    (twin,) = recorded.report(tmp_path / "twin")
    size, made, other = CASES[case]
    assert twin["findings"] == []
    found = {each["duplicate"]["bytes"]: each for each in report["findings"] if each["rule"] == "duplicate"}
    assert len(found) == len(report["findings"]) > 0
    duplicate = found[size]["duplicate"]
    assert (made in duplicate["made"], other in duplicate["other"]) == (True, True), duplicate
    assert duplicate["made"] != duplicate["other"]
    assert found[size]["predicted_peak_bytes"] < report["peak"]["bytes"]
    if case.startswith("save"):
        assert found[size]["predicted_peak_bytes"] == pytest.approx(twin["peak"]["bytes"], rel=0.03)


KEPT = """
import torch
state = {f"{i}.weight": torch.ones(512, 512) for i in range(3)}
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512, bias=False) for i in range(3)))
model.load_state_dict(state)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    model(torch.ones(8, 512)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_was_loaded_and_no_later_line_names_is_a_remark(tmp_path):
    recorded.trace_of_text(tmp_path, KEPT, "lifetimes")
    (report,) = recorded.report(tmp_path / "out")
    assert report["findings"] == []
    (remark,) = (each for each in report["remarks"] if each["kind"] == "kept")
    assert (remark["holder"], remark["bytes"]) == ("main.state", 3 * 512 * 512 * 4)
    assert remark["text"].endswith("no line that runs after the first step names it")
