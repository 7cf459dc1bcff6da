"""`reproduce --emit`: the program that is written needs torch alone, and shows what was kept."""

from __future__ import annotations

import ast
import os
import re

import pytest
import recorded
from replays import GATHERED, RELEASE, TENSOR_ONLY, TRAIN, final_releases, record


def test_the_program_that_is_written_needs_torch_alone_and_shows_the_bytes(tmp_path):
    defect = record(tmp_path / "out", (RELEASE, "--eager", "--steps", 2))
    story = tmp_path / "story.py"
    assert recorded.tool("reproduce", defect, "--finding", 1, "--emit", story).returncode == 0
    text = story.read_text()
    assert len(text.splitlines()) <= 100 and max(map(len, text.splitlines())) <= 120
    imports = {name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names}
    assert imports == {"sys", "torch"}
    env = {"PATH": os.environ["PATH"]}
    kept = sum(left for _, left in final_releases(defect, 1))
    assert kept == 12 * GATHERED
    assert f"\n{kept:,} bytes were still alive" in recorded.python(story, env=env).stdout
    assert "\n0 bytes were still alive" in recorded.python(story, "--fixed", env=env).stdout


SEVERAL_HUNDRED_EVENTS = """
import torch, dc_memtrace as dm
def main(count):
    kept = []
    for key in range(count):
        weight = torch.empty(20_000 + key % 3 * 1000)
        dm.gather(key, weight)
        dm.release(key, 2)
        torch.ones(2)
        with dm.release(key, 2):
            if key % 2:
                weight.untyped_storage().resize_(0)
        torch.ones(2)
        if key % 10 == 0:
            weight.mul_(2)
        kept.append(weight)
    torch.ones(2)
main({count})
torch.ones(2)
dm.step(0)
"""


@recorded.for_soak
@pytest.mark.parametrize("count, whole", recorded.some([(120, True), (1200, False)], 2))
def test_a_story_of_hundreds_of_events_has_a_hundred_lines(tmp_path, count, whole):
    trace = record(tmp_path / "out", ("-c", SEVERAL_HUNDRED_EVENTS.replace("{count}", str(count))))
    done = recorded.tool("reproduce", trace, "--emit", "-")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 100 and max(map(len, done.stdout.splitlines())) <= 120
    (tmp_path / "story.py").write_text(done.stdout)
    ran = recorded.python(tmp_path / "story.py", env={"PATH": os.environ["PATH"]})
    assert ran.returncode == 0, ran.stderr
    included, all = map(int, re.search(r"(\d+) of (\d+) gathered storages", done.stdout).groups())
    assert all == count and (included == count if whole else 100 < included < count)

    # For each storage in the story, its bytes before and after the final release are the recorded ones.
    recorded_bytes = dict(
        (f"g0.id{key}.1", (after, before))
        for key, before, after in recorded.query(
            trace, "SELECT key, bytes, bytes_settled FROM mark WHERE kind = 'release' AND flags LIKE '%final%'"
        )
    )
    lines = re.findall(r"^(\S+): ([\d,]+) of ([\d,]+) B alive after the release$", ran.stdout, re.MULTILINE)
    shown = {name: tuple(int(number.replace(",", "")) for number in numbers) for name, *numbers in lines}
    assert len(lines) == len(shown) == included
    assert shown == {name: recorded_bytes[name] for name in shown}
    assert f"\n{sum(after for after, _ in shown.values()):,} bytes were still alive" in ran.stdout
    assert "\n0 bytes were never released" in ran.stdout
    reads = recorded.query(trace, "SELECT key FROM mark WHERE kind = 'read'")
    assert re.findall(r"id(\d+)\.1: read 1x", ran.stdout) == [str(key) for (key,) in reads if f"g0.id{key}.1" in shown]
    fixed = recorded.python(tmp_path / "story.py", "--fixed", env={"PATH": os.environ["PATH"]})
    assert "\n0 bytes were still alive" in fixed.stdout


@recorded.for_soak
def test_the_story_of_a_trained_model_is_complete(tmp_path):
    trace = record(tmp_path / "out", (*TRAIN, *TENSOR_ONLY, "--switch", "wrapper_keeps_aliases"))
    done = recorded.tool("reproduce", trace, "--emit", "-")
    assert len(done.stdout.splitlines()) <= 100
    (tmp_path / "story.py").write_text(done.stdout)
    ran = recorded.python(tmp_path / "story.py")
    assert ran.returncode == 0, ran.stderr
    included, all = re.search(r"(\d+) of (\d+) gathered storages", done.stdout).groups()
    assert int(included) == int(all) == 144


EMPTIED = """
import torch, dc_memtrace as dm
def main():
    emptied, flat = torch.empty(20_000), torch.empty(40_000)
    part, other = flat[:20_000], flat[20_000:]
    for key, weight in enumerate((emptied, part, other)):
        dm.gather(key, weight)
    emptied.untyped_storage().resize_(0)
    torch.ones(2)
    dm.release(0)
    dm.release(1)
    del part
    torch.ones(2)
    dm.release(2)
    torch.ones(2)
    other.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""
MANY_USES = """
import torch, dc_memtrace as dm
def main():
    weights = torch.empty(20_000), torch.empty(20_000)
    for key, weight in enumerate(weights):
        dm.gather(key, weight)
    for key, weight in enumerate(weights):
        for _ in range(100):
            dm.release(key, 100)
    torch.ones(2)
main()
torch.ones(2)
dm.step(0)
"""


ONE_LONG_STORY = """
import torch, dc_memtrace as dm
def main():
    weight = torch.empty(20_000)
    dm.gather(1, weight)
    for use in range(1, 2001):
        dm.release(1, 2000 if use == 1 else use)
        torch.ones(2)
    for _ in range(50):
        weight.mul_(2)
main()
torch.ones(2)
dm.step(0)
"""


@recorded.for_soak
def test_a_story_of_thousands_of_events_of_one_storage(tmp_path):
    trace = record(tmp_path / "out", ("-c", ONE_LONG_STORY))
    done = recorded.tool("reproduce", trace, "--emit", tmp_path / "story.py")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "story.py").read_text().splitlines()) <= 100
    ran = recorded.python(tmp_path / "story.py")
    assert ran.stdout.splitlines() == [
        "g0.id1.1: 80,000 of 80,000 B alive after the release",
        "g0.id1.1: read 50x after its release, 80,000 B there",
        "80,000 bytes were still alive after their release,",
        "0 bytes were never released",
    ]


@pytest.mark.parametrize("program, included, all", recorded.some([(EMPTIED, 3, 3), (MANY_USES, 2, 2)], 2))
def test_a_story_of_what_is_emptied_shared_or_long_runs(tmp_path, program, included, all):
    trace = record(tmp_path / "out", ("-c", program))
    done = recorded.tool("reproduce", trace, "--emit", tmp_path / "story.py")
    assert done.returncode == 0, done.stderr
    story = (tmp_path / "story.py").read_text()
    assert f"{included} of {all} gathered storages" in story
    assert len(story.splitlines()) <= 100
    ran = recorded.python(tmp_path / "story.py")
    assert ran.returncode == 0, ran.stderr
    if program is EMPTIED:
        assert "g0.id0.1: 0 of 80,000 B alive after the release" in ran.stdout
        assert "g0.id2.1: 160,000 of 160,000 B alive after the release" in ran.stdout
