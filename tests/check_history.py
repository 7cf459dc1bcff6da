"""A replayed history of a small training repository under `check`: harmless commits pass, each bad one fails with its file
and line. Long: run by scripts/soak. DCMT_HISTORY is the number of harmless commits (20); each bad one is on a branch of its
own, off the history at that time. Of two ranks, every fourth of the harmless commits and each bad one are run. Commits take
turns with instruction sets and numbers of threads other than the baseline's, as the machines of a CI do. DCMT_TOLERANCE, such
as 0.5%, is the --tolerance of the baselines; each bad commit costs more."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import random
import sys

import pytest
import recorded

HARMLESS = int(os.environ.get("DCMT_HISTORY", "20"))
TOLERANCE = ["--tolerance", os.environ["DCMT_TOLERANCE"]] if "DCMT_TOLERANCE" in os.environ else []
MACHINES = [
    {}, {"ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"}, {"OMP_NUM_THREADS": "1"},
    {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "3"},
]  # fmt: skip
COMMANDS = {1: [sys.executable], 2: [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]}

MODEL = '''{comments}import torch
from torch import nn

{unused}
class {net}(nn.Module):
{docstring}    def __init__(self):
        super().__init__()
        self.{up} = nn.Linear(256, 512)
        self.{down} = nn.Linear(512, 256)
#init
    def forward(self, {x}{annotation}):
        {h} = self.{up}({x})
        {h} = torch.relu({h})
#forward
        return self.{down}({h})
'''
STEP = '''def {step}(model, optimizer, batch):
    out = model(batch)
{loss}
#step
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
#after
    return loss.item()
'''
OBJECTIVE = '''def {objective}(out, batch):
    return F.mse_loss(out, batch)
'''
TRAIN = '''{comments}{imports}
import torch
import torch.nn.functional as F
from {model} import {net}

KEPT = []
CACHE = {{}}


{functions}

def main():
    torch.manual_seed({seed})
    model = {net}()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
#main
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    data = torch.randn(6, 512, 256)
    for {index} in range(6):
        {step}(model, optimizer, data[{index}].clone())
    if "RANK" in os.environ:
        torch.distributed.destroy_process_group()


main()
'''


@dataclasses.dataclass
class Repository:
    """The parts that commits change. None of them changes what the program allocates."""

    net: str = "Net"
    up: str = "up"
    down: str = "down"
    x: str = "x"
    h: str = "h"
    step: str = "step"
    index: str = "i"
    model: str = "model"
    objective: str = ""  # the loss is a separate function
    seed: int = 0
    model_comments: int = 0
    train_comments: int = 0
    unused: int = 0
    docstring: bool = False
    annotated: bool = False
    step_first: bool = True
    imports_first: bool = True

    def files(self, plants: dict[str, str] | None = None) -> dict[str, str]:
        """@param plants  lines for the places that are named in the templates"""
        call = f"{self.objective or 'F.mse_loss'}(out, batch)"
        names = dataclasses.asdict(self)
        names["loss"] = f"    loss = {call}"
        names["docstring"] = f'    """{self.net}."""\n\n' if self.docstring else ""
        names["annotation"] = ": torch.Tensor" if self.annotated else ""
        names["imports"] = "import os\nimport sys" if self.imports_first else "import sys\nimport os"
        names["unused"] = "".join(f"\ndef helper_{n}():\n    return {n}\n\n" for n in range(self.unused))
        functions = [STEP.format(**names)]
        if self.objective:
            functions.insert(1 if self.step_first else 0, OBJECTIVE.format(**names))
        names["functions"] = "\n\n".join(functions)
        comments = {"model": "# what this is\n" * self.model_comments, "train": "# how it runs\n" * self.train_comments}
        texts = {
            f"{self.model}.py": MODEL.format(**{**names, "comments": comments["model"]}),
            "train.py": TRAIN.format(**{**names, "comments": comments["train"]}),
        }
        for place in ("init", "forward", "step", "after", "main"):
            for name, text in texts.items():
                texts[name] = text.replace(f"#{place}\n", (plants or {}).get(place, ""))
        return texts


def harmless(repository: Repository, number: int) -> Repository:
    """Makes the next harmless commit."""
    fresh = f"v{number}"
    changes = [
        {"net": f"Net{fresh}"}, {"up": f"up_{fresh}"}, {"h": f"hidden_{fresh}"}, {"step": f"step_{fresh}"},
        {"model_comments": repository.model_comments + 7}, {"seed": number}, {"model": f"model_{fresh}"},
        {"train_comments": repository.train_comments + 11}, {"objective": f"objective_{fresh}"},
        {"step_first": not repository.step_first, "objective": repository.objective or "objective"},
        {"imports_first": not repository.imports_first}, {"docstring": not repository.docstring},
        {"annotated": not repository.annotated}, {"unused": repository.unused + 1}, {"index": f"index_{fresh}"},
        {"down": f"down_{fresh}", "x": f"x_{fresh}"}, {"objective": ""},
        {"net": f"Model{fresh}", "model": f"network_{fresh}", "model_comments": repository.model_comments // 2},
    ]
    return dataclasses.replace(repository, **changes[number % len(changes)])


@dataclasses.dataclass
class Bad:
    """A commit that costs memory: a line, its place, and the line that allocates the kept memory."""

    name: str
    place: str
    line: str
    allocates: str = ""  # a part of that line; empty: the planted one
    holder: str = ""  # a part of the holder's name, if it is checked


BAD = [
    Bad("0.6 % in forward", "forward", "        self.spare = torch.zeros(17000)\n"),
    Bad("50 % in forward", "forward", "        spare = torch.zeros(1400000)\n"),
    Bad("1 MiB through backward", "step", "    spare = torch.ones(262144)\n"),
    Bad("a buffer of the model", "init", '        self.register_buffer("table", torch.zeros(50000))\n'),
    Bad("outputs kept", "after", "    KEPT.append(out)\n", "return self.", "KEPT"),
    Bad("copies kept", "after", "    KEPT.append(out.detach().clone())\n", "", "KEPT"),
    Bad("a cache that grows", "after", "    CACHE[len(CACHE)] = torch.zeros(20000)\n", "", "CACHE"),
    Bad("losses with their graphs", "after", "    KEPT.append(loss)\n", ".py", ""),
    Bad("a hook that keeps", "main",
        "    model.register_forward_hook(lambda module, given, out: KEPT.append(out.detach().clone()))\n", "", "KEPT"),
    Bad("a copy in another type", "step", "    double = out.detach().double()\n"),
]


def write(folder: pathlib.Path, files: dict[str, str]) -> None:
    for old in folder.glob("*.py"):
        old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)


def check(folder: pathlib.Path, ranks: int, machine: dict[str, str]) -> tuple[int, dict, str]:
    """One rank is deterministic. With two ranks, the threads of gloo free a few bytes at varying times."""
    once = ["--recordings", "1"] if ranks == 1 else []
    result = recorded.tool("check", "--json", *once, "--baseline", "net.json", cwd=folder, timeout=600,
                           env=recorded.environment(**machine))
    checks = json.loads(result.stdout)["checks"] if result.stdout.startswith("{") else [{}]
    return result.returncode, checks[0] if checks else {}, result.stdout + result.stderr


def history() -> list[tuple[str, Repository, Bad | None]]:
    commits: list[tuple[str, Repository, Bad | None]] = []
    repository = Repository()
    order = list(BAD)
    random.Random(7).shuffle(order)
    for number in range(1, HARMLESS + 1):
        repository = harmless(repository, number)
        commits.append((f"harmless {number}", repository, None))
        while order and len(BAD) - len(order) < number * len(BAD) / HARMLESS:
            bad = order.pop()
            commits.append((bad.name, repository, bad))
    return commits


def cases():
    """Each commit with the ranks that it runs with and the machine that it runs on."""
    for place, (name, repository, bad) in enumerate(history()):
        machine = MACHINES[place % len(MACHINES)]
        yield pytest.param(1, machine, name, repository, bad, id=name)
        if bad or place % 4 == 0:
            machine = MACHINES[place // 4 % len(MACHINES)]
            yield pytest.param(2, machine, name, repository, bad, id=f"{name}, 2 ranks")


@pytest.fixture(scope="module")
def workload_of(tmp_path_factory):
    """The folder of the repository's first commit with its baseline, for a number of ranks."""

    @functools.cache
    def workload(ranks: int) -> pathlib.Path:
        folder = tmp_path_factory.mktemp("history")
        write(folder, Repository().files())
        result = recorded.tool("check", "--update", *TOLERANCE, "--baseline", "net.json", "--", *COMMANDS[ranks], "train.py", cwd=folder,
                               timeout=1800)
        assert result.returncode == 0, result.stdout + result.stderr
        assert recorded.baseline_section(folder / "net.json")["workload"]["ranks"] == ranks
        return folder

    return workload


@pytest.mark.parametrize(("ranks", "machine", "name", "repository", "bad"), cases())
def test_commit(workload_of, ranks, machine, name, repository, bad):
    workload = workload_of(ranks)
    files = repository.files({bad.place: bad.line} if bad else None)
    write(workload, files)
    code, verdict, said = check(workload, ranks, machine)
    if bad is None:
        assert code == 0, f"{name}: a false failure\n{said}"
        return
    assert code == 1, f"{name}: not caught\n{said}"
    wanted = bad.allocates or bad.line.strip()
    right = {(file, number) for file, text in files.items() for number, line in enumerate(text.splitlines(), 1)
             if wanted in line or (wanted == ".py" and line.strip())}
    failed = [fact for fact in verdict["facts"] if fact["failed"] and fact["causes"]]
    worst = max(failed, key=lambda fact: fact["change"])
    cause = worst["causes"][0]
    assert (pathlib.Path(cause["file"]).name, cause["line"]) in right, f"{name}: {cause}\n{said}"
    assert bad.holder in cause["holder"], f"{name}: {cause}"
