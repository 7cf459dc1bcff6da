"""ZeRO-1, 2 and 3 of DeepSpeed over gloo, two ranks: what gloo's worker thread still holds for a while is late and no
finding; a residual that is planted beside it is found each time.

Run by scripts/soak where DCMT_DEEPSPEED_PYTHON is a Python that has torch and deepspeed (pip install deepspeed, with
DS_BUILD_OPS=0). DCMT_TRAININGS trainings of each kind, 10 if it is not set.
"""

from __future__ import annotations

import collections
import os

import pytest
import recorded

PYTHON = os.environ["DCMT_DEEPSPEED_PYTHON"]
TRAININGS = int(os.environ.get("DCMT_TRAININGS", "10"))

PROGRAM = """
import sys, deepspeed, torch
stage, planted = int(sys.argv[1]), sys.argv[2] == "planted"
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)])
zero = {"stage": stage, "stage3_param_persistence_threshold": 0, "reduce_bucket_size": 1_000_000}
config = {"train_micro_batch_size_per_gpu": 4, "zero_allow_untested_optimizer": True, "zero_optimization": zero}
engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.Adam(model.parameters(), lr=1e-3), config=config)
kept = {}
if planted and stage == 3:
    # The gathered weight of one layer outlives its release, until the next forward.
    model[2].register_forward_pre_hook(lambda module, _: kept.update(weight=module.weight.data))
for _ in range(8):
    loss = engine(torch.randn(4, 512)).pow(2).mean()
    engine.backward(loss)
    engine.step()
    if planted and stage < 3:
        kept.setdefault("losses", []).append(torch.randn(64, 1024) + loss.detach())
"""


def trained(folder, stage: int, kind: str) -> list[dict]:
    program = folder / "train.py"
    program.write_text(PROGRAM)
    result = recorded.tool(
        "run", "-o", folder / "out", "--", PYTHON, "-W", "ignore", "-m", "torch.distributed.run", "--standalone",
        "--nproc_per_node", "2", program, stage, kind,
        env=recorded.environment(DS_ACCELERATOR="cpu", DS_BUILD_OPS="0", OMP_NUM_THREADS="1"), timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return recorded.report(folder / "out")


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_what_gloo_still_holds_is_no_finding(stage, tmp_path):
    findings, kinds = [], collections.Counter()
    for number in range(TRAININGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        for report in trained(folder, stage, "healthy"):
            findings += [(number, report["rank"], finding["title"]) for finding in report["findings"]]
            kinds.update(remark["kind"] for remark in report["remarks"])
            for remark in report["remarks"]:
                assert remark["kind"] != "late" or "pt_gloo_runloop" in remark["text"]
            assert report["facts"]["residual_releases"] == 0
    print(f"ZeRO-{stage}: {TRAININGS} trainings, remarks {dict(kinds)}")
    assert findings == []


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_planted_residual_is_found_each_time(stage, tmp_path):
    found = 0
    for number in range(TRAININGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        reports = trained(folder, stage, "planted")
        rules = {"residual"} if stage == 3 else {"grows"}
        found += all({finding["rule"] for finding in report["findings"]} == rules for report in reports)
    assert found == TRAININGS
