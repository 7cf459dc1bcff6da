"""Memory that grows is reported with its holder; a program that keeps numbers instead has no finding."""

from __future__ import annotations

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "growing.py"
STEPS, SEEN, FLOATS = 30, 24, 80_000  # steps in all and before the reading; bytes of a tensor
INPUTS, HIDDEN = 130 * 128 * 4, 130 * 160 * 4

# The names that a user would write, the kind of container, and the bytes that it keeps per step.
HOLDERS = {
    "main: losses": ("list", 2 * FLOATS),
    "main: probe.seen": ("list", HIDDEN),
    "main: model[0]._forward_pre_hooks[1].__self__.seen": ("list", INPUTS),
    "main: by_step": ("dict", FLOATS),
    "main: queue": ("deque", FLOATS),
    "main: nested['log']": ("list", FLOATS),
    "main: slots.rows": ("list", FLOATS),
    "main: tagged": ("Tagged", FLOATS),
    "main: count.__closure__['kept']": ("list", FLOATS),
    "main.Probe.seen_by_class": ("list", FLOATS),
    "main.CACHE": ("dict", FLOATS),
    "main.table (lru_cache)": ("dict", FLOATS),
    "main: total": ("graph", 2 * FLOATS),
    "main: first": ("list", FLOATS),
    "main: second": ("list", FLOATS),
}


def record(folder, *numbers: str) -> dict:
    recorded.record(folder, "-W", "ignore", PROGRAM, *numbers)
    return recorded.report(recorded.traces(folder)[0])[0]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return record(tmp_path_factory.mktemp("growing") / "out")


def growth(report: dict) -> dict[str, dict]:
    assert {finding["rule"] for finding in report["findings"]} <= {"grows"}
    return {finding["growth"]["holder"]: finding for finding in report["findings"]}


def test_each_holder_is_named(report):
    assert set(growth(report)) == set(HOLDERS)


@pytest.mark.parametrize("holder", HOLDERS)
def test_kind_bytes_and_place(report, holder):
    kind, each_step = HOLDERS[holder]
    finding = growth(report)[holder]
    found = finding["growth"]
    assert found["type"] == kind
    steps = found["steps"]
    # Memory made after the optimizer's step belongs to the next step, whose end the last of them does not reach.
    assert steps in (STEPS - 1, STEPS) and finding["bytes"] == steps * each_step
    assert found["per_step_bytes"] == each_step
    per_step = found["storages"] // steps
    assert SEEN * per_step <= found["seen"] <= found["storages"]
    shared = holder in ("main: first", "main: second")
    assert found["alone_bytes"] == (0 if shared else finding["bytes"])
    assert all("growing.py" in site["site"] for site in found["sites"])
    assert (found["place"] or "").startswith("growing.py:") == holder.startswith("main:")


def test_what_two_lists_hold_is_shared(report):
    numbers = sorted(growth(report)[name]["number"] for name in ("main: first", "main: second"))
    (shared,) = report["devices"][0]["shared"]
    assert shared["findings"] == numbers
    assert shared["bytes"] == (STEPS - 1) * FLOATS


def test_the_peak_by_holder(report):
    """All storages of the lists, and tracked storages of the model and its optimizer, have their holders."""
    holders = {group["name"]: group["bytes"] for group in report["peak"]["by_holder"]}
    for name, (kind, each_step) in HOLDERS.items():
        if name not in ("main: first", "main: second"):
            found = sum(size for holder, size in holders.items() if holder in (name, f"{name}, as others made there"))
            # At the peak, the same lines have just made other values that they will drop.
            assert (STEPS - 1) * each_step <= found <= (STEPS + 1) * each_step
    both = sum(size for holder, size in holders.items() if holder.startswith("main: first + main: second"))
    assert both in ((STEPS - 1) * FLOATS, STEPS * FLOATS)


@recorded.for_soak
def test_the_peak_without_one_is_what_a_run_without_it_measures(report, tmp_path):
    predicted = growth(report)["main: losses"]["predicted_peak_bytes"]
    measured = record(tmp_path / "out", "losses")["peak"]["bytes"]
    assert abs(measured - predicted) <= 0.01 * measured


def test_numbers_do_not_grow(tmp_path):
    assert record(tmp_path / "out", "all")["findings"] == []


def test_what_fills_and_stops_or_is_replaced_does_not_grow(tmp_path):
    """A ring, a replay buffer, a cache, an average, outputs of an epoch, batches fetched ahead, the best weights."""
    recorded.record(tmp_path / "out", recorded.PROGRAMS / "keeping.py")
    (report,) = recorded.report(tmp_path / "out")
    assert report["findings"] == [] and report["facts"]["steps"] == 24


def test_without_reading_the_memory_no_holder_is_claimed(tmp_path):
    folder = tmp_path / "out"
    done = recorded.tool("run", "-o", folder, "--no-owners", "--", recorded.sys.executable, "-W", "ignore", PROGRAM)
    assert done.returncode == 0, done.stderr
    (trace,) = recorded.traces(folder)
    assert recorded.query(trace, "SELECT count(*) FROM scan") == [(0,)]
    (report,) = recorded.report(trace)
    assert report["findings"] == []
    assert {remark["kind"] for remark in report["remarks"]} == {"grows"}
