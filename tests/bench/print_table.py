"""Prints the figures of one run of scripts/bench as a table, from the JSON files that the benchmarks left."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform

COLUMNS = ("what", "measured", "budget", "rival in the same run", "ratio")
MODEL_NAMES = {"mlp": "MLP step, all dispatch", "gpt2": "GPT-2 step"}
STEP_BUDGET = {"lifetimes": "≤ 4 % ¹", "full": "≤ 10 % ¹"}
NONE = "–"


def percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def interval(ratio: dict) -> str:
    return f"{percent(ratio['median'])} [{percent(ratio['low'])}, {percent(ratio['high'])}]"


def latency(entry: dict) -> str:
    return f"{entry['typical_ns']:.0f} ns · p50 {entry['p50_ns']:.0f} · p99 {entry['p99_ns']:.0f} ns"


def threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def record_rows(core: dict, process: dict) -> list[tuple]:
    rows = []
    for entry in core["benchmarks"]:
        what = f"record without stack, agent's core, {threads(entry['threads'])}"
        rows.append((what, latency(entry), "p50 ≤ 60, p99 ≤ 1000 ns", NONE, NONE))
    for entry in process["measured"]:
        stack = f"with {entry['frames']} Python frames" if entry["stack"] else "without stack"
        budget = "p50 ≤ 200, p99 ≤ 1000 ns" if entry["stack"] else "p50 ≤ 60, p99 ≤ 1000 ns"
        what = f"record {stack}, recorded process, {threads(entry['threads'])}"
        rows.append((what, latency(entry), budget, NONE, NONE))
    gil = process["with_gil"]
    first = process["first_round"]
    for entry, what in ((gil, "1 thread that holds the GIL"), (first, "first time around the spool")):
        rows.append((f"  the same with {entry['frames']} frames, {what}", latency(entry), NONE, NONE, NONE))
    return rows


def step_rows(summary: dict) -> list[tuple]:
    name, modes = MODEL_NAMES[summary["model"]], summary["modes"]
    rival = modes["profiler"]
    plain = modes["plain"]["step_s"]
    rows = []
    for mode, budget in STEP_BUDGET.items():
        entry = modes[mode]
        overhead, rival_overhead = entry["ratio"]["median"] - 1, rival["ratio"]["median"] - 1
        ratio = f"{overhead / rival_overhead:.2f}" if overhead > 0 and rival_overhead > 0 else NONE
        what = f"{name} ({plain * 1e3:.2f} ms plain), `{mode}`"
        rows.append((what, interval(entry["ratio"]), budget, interval(rival["ratio"]), ratio))
    for mode in STEP_BUDGET:
        entry = modes[mode]
        ours, theirs = entry["outside_cpu_s"], rival["outside_cpu_s"]
        what = f"  recorder's CPU per step, `{mode}`, {entry['records_per_step']:,.0f} records"
        rows.append((what, f"{ours * 1e3:.2f} ms · {ours / plain * 100:.1f} % of the step", NONE,
                     f"{theirs * 1e3:.2f} ms ²", f"{ours / theirs:.2f}" if theirs > 0 else NONE))
    return rows


def recorder_rows(drain: dict, rate: dict, report: dict) -> list[tuple]:
    rows = [
        ("recorder: records drained into a trace", f"{drain['records'] / drain['drain_s'] / 1e6:.2f} M/s"
         f" · {drain['records'] / drain['cpu_s'] / 1e6:.2f} M per CPU second", "≥ 1 M/s", NONE, NONE),
        (f"recorder's CPU at {rate['per_second']:,} records/s",
         f"{rate['cpu_s'] / (rate['drain_s'] + rate['finish_s']):.3f} core", "≤ 0.1 core", NONE, NONE),
        ("recorder's peak RSS while draining, the mapped spool's 64 MiB included",
         f"{drain['peak_rss_kib'] / 1024:.0f} MiB", "≤ 256 MiB", NONE, NONE),
    ]
    if drain["lifetime_bytes"] > 0:
        rows.append(("trace per row of storage, tensor and block, indexes included",
                     f"{drain['lifetime_bytes'] / drain['lifetimes']:.1f} B", "≤ 48 B", NONE, NONE))
    everything = drain["lifetimes"] + drain["operators"]
    per_row = f"{drain['file_bytes'] / everything:.1f} B"
    rows.append(("  whole file per row, operators included", per_row, NONE, NONE, NONE))
    rows.append((f"report of {drain['lifetimes'] / 1e6:.2f} M lifetimes", f"{report['seconds']:.1f} s",
                 "≤ 10 s for 10 M", NONE, NONE))
    if drain["lost"] + rate["lost"] > 0:
        rows.append(("records lost meanwhile", f"{drain['lost'] + rate['lost']:,}", "0", NONE, NONE))
    return rows


def census_row(census: dict) -> tuple:
    measured = f"mean {census['mean_us']:.0f} µs · median {census['median_us']:.0f} · max {census['max_us']:.0f} µs"
    return (f"synchronous census ({census['count']} of zero3_release)", measured, "≤ 50 µs", NONE, NONE)


def notes(steps: list[dict]) -> list[str]:
    ratio = steps[0]["modes"]["full"]["ratio"]
    kind = "order statistics" if ratio["coverage"] >= 0.95 else "the range: too few pairs for 95 %"
    lines = [
        f"Steps: medians of {ratio['count']} ratios to the plain run of the same round, "
        f"[{ratio['coverage'] * 100:.0f} % interval of that median by {kind}]; 1 thread of torch.",
        "rival: torch.profiler with profile_memory=True (operators and allocations, no stacks); ratio: overhead to"
        " overhead.",
        "¹ stated for the CPU-bound 22 ms GPU step.   ² CPU of stopping the profiler, per step; the recorder's is all"
        " of its run, per step.",
        "record: mean of the median batch, then percentiles of single records less the clock's own cost; many counters"
        " advance in steps of 10 ns.",
    ]
    for summary in steps:
        if not summary["losses_equal"]:
            lines.append(f"WRONG: the last losses of {summary['model']} differ between the modes.")
        for mode, entry in summary["modes"].items():
            if entry.get("lost"):
                lines.append(f"{summary['model']}, {mode}: {entry['lost']:,.0f} records lost.")
    return lines


def cpu_model() -> str:
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder

    def load(name: str):
        return json.loads((folder / f"{name}.json").read_text())

    steps = load("steps")
    rows = record_rows(load("record"), load("stack"))
    for summary in steps:
        rows += step_rows(summary)
    rows += recorder_rows(load("drain"), load("rate"), load("report"))
    rows.append(census_row(load("census")))

    widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS))]
    print(f"{cpu_model()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
    for row in (COLUMNS, tuple("-" * width for width in widths), *rows):
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print()
    print("\n".join(notes(steps)))


if __name__ == "__main__":
    main()
