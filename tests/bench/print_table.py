"""Prints the figures of one run of scripts/bench as a table, from the JSON files that the benchmarks left."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform

COLUMNS = ("what", "measured", "budget", "", "rival in the same run", "ratio")
MODEL_NAMES = {"mlp": "MLP step, all dispatch", "gpt2": "GPT-2 step"}
STEP_BUDGET = {"lifetimes": "≤ 4 % ¹", "full": "≤ 10 % ¹"}
EXECUTOR_OPERATORS = {
    "gather_valid": "gather of what is valid",
    "wait": "wait",
    "release_counted": "release, not the last",
    "gather_and_final_release": "gather of 1 KiB, one rank, and its final release",
    "reduce_grad_queued": "reduce_grad of 1 KiB, one rank, without the reduction",
    "reduce_grad_and_flush": "reduce_grad of 1 KiB, one rank, with its share of the reduction",
}
NONE = "–"
RECORD_P99_NS = 1000


def mark(within: bool) -> str:
    return "pass" if within else "MISS"


def percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f} %"


def interval(ratio: dict) -> str:
    return f"{percent(ratio['median'])} [{percent(ratio['low'])}, {percent(ratio['high'])}]"


def latency(entry: dict) -> str:
    return f"{entry['typical_ns']:.0f} ns · p50 {entry['p50_ns']:.0f} · p99 {entry['p99_ns']:.0f} ns"


def threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def record_row(what: str, entry: dict, p50_ns: int) -> tuple:
    within = entry["p50_ns"] <= p50_ns and entry["p99_ns"] <= RECORD_P99_NS
    return (what, latency(entry), f"p50 ≤ {p50_ns}, p99 ≤ {RECORD_P99_NS} ns", mark(within), NONE, NONE)


def record_rows(core: dict, process: dict) -> list[tuple]:
    rows = [record_row(f"record without stack, agent's core, {threads(entry['threads'])}", entry, 60)
            for entry in core["benchmarks"]]
    for entry in process["measured"]:
        stack = f"with {entry['frames']} Python frames" if entry["stack"] else "without stack"
        gil = ", with the GIL" if entry["gil"] else ""
        what = f"record {stack}{gil}, recorded process, {threads(entry['threads'])}"
        rows.append(record_row(what, entry, 200 if entry["stack"] else 60))
    first = process["first_round"]
    rows.append(record_row(f"  with {first['frames']} frames, first time around the spool", first, 200))
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
        rows.append((what, interval(entry["ratio"]), budget, NONE, interval(rival["ratio"]), ratio))
    for mode in STEP_BUDGET:
        entry = modes[mode]
        ours, theirs = entry["outside_cpu_s"], rival["outside_cpu_s"]
        what = f"  recorder's CPU per step, `{mode}`, {entry['records_per_step']:,.0f} records"
        rows.append((what, f"{ours * 1e3:.2f} ms · {ours / plain * 100:.1f} % of the step", NONE, NONE,
                     f"{theirs * 1e3:.2f} ms ²", f"{ours / theirs:.2f}" if theirs > 0 else NONE))
    return rows


def time_and_memory(command: dict) -> str:
    return f"{command['seconds']:.1f} s · {command['peak_rss_kib'] / 1024:,.0f} MiB"


def fsdp2_row(report: dict) -> tuple:
    enough = report["seconds"] <= 10 and report["peak_rss_kib"] <= 300 * 1024
    return ("report of 1,000 steps of 300 parameters of FSDP2 (`--quick`: 50 steps)", time_and_memory(report),
            "≤ 10 s, ≤ 300 MiB", mark(enough), NONE, NONE)


def recorder_rows(drain: dict, rate: dict, report: dict) -> list[tuple]:
    drained = drain["records"] / drain["drain_s"]
    cores = rate["cpu_s"] / (rate["drain_s"] + rate["finish_s"])
    rss_mib = drain["peak_rss_kib"] / 1024
    rows = [
        ("recorder: records drained into a trace", f"{drained / 1e6:.2f} M/s"
         f" · {drain['records'] / drain['cpu_s'] / 1e6:.2f} M per CPU second", "≥ 1 M/s", mark(drained >= 1e6), NONE,
         NONE),
        (f"recorder's CPU at {rate['per_second']:,} records/s", f"{cores:.3f} core", "≤ 0.1 core", mark(cores <= 0.1),
         NONE, NONE),
        ("recorder's peak RSS while draining, the mapped spool's 64 MiB included", f"{rss_mib:.0f} MiB", "≤ 256 MiB",
         mark(rss_mib <= 256), NONE, NONE),
    ]
    if drain["lifetime_bytes"] > 0:
        per_lifetime = drain["lifetime_bytes"] / drain["lifetimes"]
        rows.append(("trace per row of storage, tensor and block, indexes included", f"{per_lifetime:.1f} B", "≤ 48 B",
                     mark(per_lifetime <= 48), NONE, NONE))
    everything = drain["lifetimes"] + drain["operators"]
    per_row = f"{drain['file_bytes'] / everything:.1f} B"
    rows.append(("  whole file per row, operators included", per_row, NONE, NONE, NONE, NONE))
    enough = drain["lifetimes"] >= 10e6
    rows.append((f"report of {drain['lifetimes'] / 1e6:.2f} M lifetimes", time_and_memory(report),
                 "≤ 10 s for 10 M", mark(report["seconds"] <= 10) if enough else NONE, NONE, NONE))
    lost = drain["lost"] + rate["lost"]
    rows.append(("records lost meanwhile", f"{lost:,}", "0", mark(lost == 0), NONE, NONE))
    return rows


def census_row(census: dict) -> tuple:
    median = census["median_us"]
    measured = (f"median {median['median']:.0f} µs [{median['low']:.0f}, {median['high']:.0f}]"
                f" · mean {census['mean_us']:.0f} · max {census['max_us']:.0f} µs")
    return (f"synchronous census ({census['count']} of zero3_release)", measured, "≤ 50 µs",
            mark(census["max_us"] <= 50), NONE, NONE)


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
        "³ memcpy into a new tensor of the same bytes, one thread; ratio: time to time.",
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


def machine() -> str:
    return f"{cpu_model()}, {os.cpu_count()} CPUs, Linux {'.'.join(platform.release().split('.')[:2])}, load {os.getloadavg()[0]:.1f}"


def print_plain(rows: list[tuple], lines: list[str]) -> None:
    widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS))]
    print(f"{machine()}\n")
    for row in (COLUMNS, tuple("-" * width for width in widths), *rows):
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print()
    print("\n".join(lines))


def executor_rows(bench: dict) -> list[tuple]:
    entries = {entry["name"].partition("/iterations")[0]: entry for entry in bench["benchmarks"]}
    rows = []
    for name, what in EXECUTOR_OPERATORS.items():
        micros = entries[name]["cpu_time"] / 1e3
        # The reduction's own arithmetic is no cost of an operator.
        judged = name != "reduce_grad_and_flush"
        verdict = ("≤ 5 µs", mark(micros <= 5)) if judged else (NONE, NONE)
        rows.append((f"executor: {what}", f"{micros:.2f} µs", *verdict, NONE, NONE))
    for name, entry in entries.items():
        benchmark, _, size = name.partition("/")
        if benchmark == "world_gather":
            ours, copied = entry["real_time"], entries[f"plain_memcpy/{size}"]["real_time"]
            rows.append((f"executor: simulated gather of {int(size) >> 10:,} KiB and its release", f"{ours / 1e3:.1f} µs",
                         NONE, NONE, f"{copied / 1e3:.1f} µs ³", f"{ours / copied:.2f}"))
    return rows


def print_markdown(rows: list[tuple], lines: list[str]) -> None:
    print(f"## {datetime.date.today().isoformat()}\n\n{machine()}.\n")
    for row in (COLUMNS, ("---",) * len(COLUMNS), *rows):
        print("| " + " | ".join(cell.strip() for cell in row) + " |")
    print()
    print("\n".join(f"- {line}" for line in lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--markdown", action="store_true", help="as a file of docs/benchmarks keeps it")
    arguments = parser.parse_args()
    folder = arguments.folder

    def load(name: str):
        return json.loads((folder / f"{name}.json").read_text())

    steps = load("steps")
    rows = record_rows(load("record"), load("stack"))
    for summary in steps:
        rows += step_rows(summary)
    rows += recorder_rows(load("drain"), load("rate"), load("report"))
    rows.append(fsdp2_row(load("fsdp2")))
    rows.append(census_row(load("census")))
    rows += executor_rows(load("zero3"))

    (print_markdown if arguments.markdown else print_plain)(rows, notes(steps))


if __name__ == "__main__":
    main()
