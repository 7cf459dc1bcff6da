"""A finding is the same one in the next run of a program: in another cache folder, after an edit above its line, in another
world size, whichever releases a census was taken at. Two defects at one line are two."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3

import recorded

# One with no changes, one with all changes; scripts/soak records more.
RECORDINGS = int(os.environ.get("DCMT_IDENTITY_RECORDINGS", "2"))
SAMPLES = 10

TWO_AT_ONE_LINE = """
import torch, dc_memtrace as dm
def gathered(key):
    weight = torch.ones(40_000)
    dm.gather(key, weight)
    return weight
def released(key):
    with dm.release(key):
        pass
    torch.ones(2)
def encoder():
    weight = gathered(1)
    released(1)
def decoder():
    weight = gathered(2)
    released(2)
for step in range(3):
    encoder()
    decoder()
    dm.step(step)
"""


def same(one: dict, other: dict) -> bool:
    """As in docs/verdicts.md: different holders separate two findings only if both are certain."""
    holders = {one["holder"], other["holder"]} - {None}
    return len(holders) < 2 and all(one[part] == other[part] for part in ("rule", "born", "released"))


def identities(trace) -> list[dict]:
    (report,) = recorded.report(trace)
    return [finding["identity"] for finding in report["findings"]]


def with_some_censuses(trace, share: float, copy) -> None:
    """The trace as if only some releases had been inspected."""
    shutil.copy(trace, copy)
    with sqlite3.connect(copy) as database:
        censuses = [row for row in database.execute("SELECT id FROM mark WHERE kind = 'census'")]
        left_out = [row for row in censuses if random.random() > share]
        database.executemany("DELETE FROM mark WHERE id = ?", left_out)
        database.executemany("DELETE FROM edge WHERE census = ?", left_out)
        database.executemany("DELETE FROM sample WHERE census = ?", left_out)
    database.close()


def record_variant(number: int, folder):
    """Records the sample. Odd numbers: after an edit above its code, with another cache of compiled code and two ranks."""
    changed = number % 2 == 1
    sample = folder / f"{'moved' if changed else 'as_it_was'}{number}" / "samples" / "zero3_release"
    shutil.copytree(recorded.SAMPLE.parent, sample)
    (sample.parents[1] / "executor").symlink_to(recorded.ROOT / "executor")
    model = sample / "model.py"
    if changed:
        model.write_text(model.read_text().replace("\nWIDE =", "\n# Widths of the layers.\n\n\nWIDE ="))
    caches = recorded.environment(**({"TORCHINDUCTOR_CACHE_DIR": str(folder / f"cache{number}")} if changed else {}))
    ranks = 2 if changed else 1
    out = folder / f"out{number}"
    recorded.record(out, sample / "train.py", "--layers", 4, "--steps", 3, "--ranks", ranks, env=caches)
    (trace,) = recorded.traces(out)
    return trace


@recorded.for_soak
def test_one_defect_is_one_finding_in_every_run(tmp_path):
    random.seed(1)
    traces = [record_variant(number, tmp_path) for number in range(RECORDINGS)]
    places = {path for (path,) in recorded.query(traces[0], "SELECT text FROM string WHERE text LIKE '%/model.py'")}
    others = {path for (path,) in recorded.query(traces[1], "SELECT text FROM string WHERE text LIKE '%/model.py'")}
    assert places and others and not places & others, "the programs lie in different folders"
    seen = [identity for trace in traces for identity in identities(trace)]
    assert any(identity["holder"] for identity in seen)
    for number in range(SAMPLES):
        copy = tmp_path / f"sample{number}.dcmt"
        with_some_censuses(traces[number % RECORDINGS], random.random(), copy)
        found = identities(copy)
        assert found
        seen += found
    known = next(identity for identity in seen if identity["holder"])
    assert [identity for identity in seen if not same(identity, known)] == []


def test_two_defects_at_one_line_are_two_findings(tmp_path):
    trace = recorded.trace_of_text(tmp_path, TWO_AT_ONE_LINE, "lifetimes")
    encoder, decoder = sorted(identities(trace), key=lambda identity: identity["holder"], reverse=True)
    assert (encoder["born"], encoder["released"]) == (decoder["born"], decoder["released"])
    assert encoder["holder"].startswith("encoder") and decoder["holder"].startswith("decoder")
    assert not same(encoder, decoder)
