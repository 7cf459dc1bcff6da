"""Parameters that Python functions gather and release without an operator: rows [[function]] and [[origin]]."""

from __future__ import annotations

import collections
import json

import pytest
import recorded

# A sharding library of a hundred lines, as users write them. 40,000 elements are 160,000 bytes.
LIBRARY = """
import torch

N = 40_000
kept = []


class Parameters:
    def __init__(self, count, first=0):
        self.all = [torch.nn.Parameter(torch.ones(N)) for _ in range(count)]
        for number, parameter in enumerate(self.all):
            parameter.number = first + number
            parameter.kept_for_good = number == 3
            free(parameter)  # partitioned before it was ever gathered

    def gather(self, *numbers):
        buffer = torch.ones(N * len(numbers))
        for i, number in enumerate(numbers):
            self.all[number].data = buffer.narrow(0, i * N, N)


def free(parameter):
    parameter.data = torch.empty(0)


def hook(parameters, *numbers):
    parameters.gather(*numbers)
"""

TABLE = """
[[function]]
file = "sharding/library.py"
function = "Parameters.gather"
role = "gather"
event = "move"
mechanism = "mine"
key = "number"
persistent = "kept_for_good"

[[function]]
file = "sharding/library.py"
function = "free"
role = "release"
event = "move"
mechanism = "mine"
key = "number"

[[origin]]
origin = "hook"
file = "sharding/library.py"
function = "hook"
"""


def record(folder, program: str):
    """The folder of the recording."""
    library, table, script = folder / "sharding" / "library.py", folder / "table.toml", folder / "program.py"
    library.parent.mkdir()
    library.write_text(LIBRARY)
    table.write_text(TABLE)
    head = "import torch, dc_memtrace as dm\nfrom sharding.library import *\ntorch.set_num_threads(1)\n"
    script.write_text(head + program)
    result = recorded.tool("run", "-o", folder / "out", "--operators", table, "--", recorded.sys.executable, script)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "out"


# Keys from 0: freed, kept and never gathered. From 10: of one buffer. From 20: of one buffer that is held.
RELEASES = """
def step(p):
    p.gather(0); free(p.all[0]); torch.ones(2)
    p.gather(1); alias = p.all[1].data; free(p.all[1]); torch.ones(2)
    p.gather(2); free(p.all[2]); torch.ones(2)

step(Parameters(3))

def leave(p):
    p.gather(*range(len(p.all)))
    for parameter in p.all:
        free(parameter)
        torch.ones(2)

leave(Parameters(3, 10))
p = Parameters(2, 20)
p.gather(0, 1)
view = p.all[0].data
for parameter in p.all:
    free(parameter)
    torch.ones(2)
"""


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    return record(tmp_path_factory.mktemp("releases"), RELEASES)


def rows_from(folder, first: int) -> list[dict]:
    """The releases of ten keys."""
    return [row for row in recorded.releases(folder) if first <= row["key"]["key"] < first + 10]


def verdicts(rows: list[dict]) -> list[tuple[int, str, bool]]:
    return [(row["key"]["key"], row["verdict"], row["residual"]) for row in rows]


def test_freed_kept_and_never_gathered(releases):
    rows = rows_from(releases, 0)
    # The partition before the first gather is no release.
    assert verdicts(rows) == [(0, "freed", False), (1, "late", True), (2, "freed", False)]
    assert [row["bytes_before"] for row in rows] == [160_000] * 3
    assert rows[1]["metadata_only"] and rows[1]["function"]
    (trace,) = recorded.report(releases)
    (finding,) = [each for each in trace["findings"] if {item["key"]["key"] for item in each["items"]} == {1}]
    (holder,) = finding["holders"]["paths"]
    assert [name["name"] for name in holder["names"]] == ["alias"]
    assert "id 1 of mine" in recorded.tool("report", releases).stdout


def test_parameters_of_one_buffer_leave_it_one_by_one(releases):
    # Only the last release must free the bytes, and it does.
    assert verdicts(rows_from(releases, 10)) == [(10, "shared", False), (11, "shared", False), (12, "freed", False)]


def test_the_last_one_of_a_buffer_that_is_held_is_the_one_that_is_named(releases):
    assert verdicts(rows_from(releases, 20)) == [(20, "shared", False), (21, "late", True)]


# Gathered by a hook and by itself; and, from key 10 on, some that are never released, of which one is kept for good.
GATHERS = """
p = Parameters(3)
hook(p, 0)
p.gather(1, 2)
torch.ones(2)
dm.mark("here")
q = Parameters(4, 10)
q.gather(3); torch.ones(2)
q.gather(2); torch.ones(2)
"""


@pytest.fixture(scope="module")
def gathers(tmp_path_factory):
    return record(tmp_path_factory.mktemp("gathers"), GATHERS)


def test_what_is_kept_for_good_is_not_missed(gathers):
    (trace,) = recorded.report(gathers)
    assert {finding["rule"] for finding in trace["findings"]} == {"never_released"}
    missed = sorted(item["key"]["key"] for finding in trace["findings"] for item in finding["items"])
    assert missed == [0, 1, 2, 12]


def test_origins_are_named_by_the_innermost_frame_that_is_known(gathers):
    shown = recorded.tool("show", "live", "--json", "--by", "origin", "--at", "here", gathers)
    (trace,) = json.loads(shown.stdout)["traces"]
    bytes_by_origin = {group["name"]: group["bytes"] for group in trace["by_origin"]}
    assert bytes_by_origin["hook"] == 160_000
    assert bytes_by_origin["Parameters.gather"] == 320_000


@recorded.for_soak
def test_fsdp2_is_known_out_of_the_box(tmp_path):
    counted = tmp_path / "counted.json"
    folder = tmp_path / "out"
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    recorded.record(folder, *launch, recorded.PROGRAMS / "fsdp2.py", counted, 3, 192, "cpu")
    plain = tmp_path / "plain.json"
    assert recorded.python(*launch, recorded.PROGRAMS / "fsdp2.py", plain, 3, 192, "cpu").returncode == 0
    said = json.loads(counted.read_text())
    assert said == json.loads(plain.read_text())

    (trace,) = [t for t in recorded.report(folder) if t["path"].endswith("rank0.dcmt")]
    assert trace["findings"] == []
    shown = recorded.tool("show", "releases", "--json", "--rank", "0", folder)
    (rows,) = [t["releases"] for t in json.loads(shown.stdout)["traces"]]
    assert {row["verdict"] for row in rows} == {"freed"}
    names = dict(
        recorded.query(folder / "rank0.dcmt", "SELECT key, text FROM parameter JOIN string ON string.id = name")
    )
    seen = collections.defaultdict(list)
    for row in rows:
        seen[names[row["key"]["key"]]].append(row["bytes_before"])
    # A buffer smaller than the tracking limit is tracked only after it has shrunk.
    expected = {name: sizes if sizes[0] >= 65_536 else sizes[1:] for name, sizes in said["freed"].items()}
    assert len(expected) == 6 and dict(seen) == expected
