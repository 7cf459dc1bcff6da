"""Four threads make, share, move, resize and end storages: at every step the trace has alive what a scan of memory finds.

DCMT_STRESS_STORAGES says how many storages; twenty thousand without it. A tensor or two lies on each besides its first.
"""

from __future__ import annotations

import json
import os

import exact
import recorded

STORAGES = int(os.environ.get("DCMT_STRESS_STORAGES", "20000"))
STEPS = max(5, STORAGES // 20000)
THREADS = 4
PROGRAM = recorded.BUILD / "bin" / "libtorch_stress"
# Nothing may be lost: the program waits at many steps, so that the recorder keeps up.
SPOOL_MIB, PAUSE_MS = (64, 0) if STEPS == 5 else (512, 2000)


def test_what_lives_at_each_step_is_what_the_trace_has_alive(tmp_path):
    lists = tmp_path / "lists"
    lists.mkdir()
    done = recorded.tool(
        *("run", "-o", tmp_path / "out", "--detail", "full", "--spool-mib", SPOOL_MIB, "--"),
        *(PROGRAM, lists, STORAGES, STEPS, THREADS, PAUSE_MS),
        timeout=None,
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["storages"] >= STORAGES and made["tensors"] > 2 * STORAGES

    (trace,) = recorded.traces(tmp_path / "out")
    exact.check_nothing_unseen(trace)
    steps = recorded.query(trace, "SELECT value, to_seq FROM mark WHERE kind = 'step' ORDER BY value")
    assert [step for step, _ in steps][:STEPS] == list(range(STEPS))
    for step, seq in steps[:STEPS]:
        held, found = exact.written(lists / f"{step}.held"), exact.written(lists / f"{step}.found")
        assert held == found, "the program's own two lists differ"
        assert exact.alive(trace, seq) == found, f"step {step}"

    # Everything that the program made was born once. What did not end is alive.
    storages, tensors = found
    for table, object_, count, living in (("storage", "id", made["storages"], storages), ("tensor", "object", made["tensors"], tensors)):
        births, live = recorded.query(
            trace, f"SELECT count(DISTINCT {object_}), sum(to_seq IS NULL) FROM {table}"
        )[0]
        assert births == count
        assert live == living.total()
    assert recorded.query(trace, "SELECT count(*) FROM tensor WHERE storage IS NULL") == [(0,)]
