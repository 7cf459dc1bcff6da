"""Writes the tables of docs/support.md from the results that scripts/matrix kept."""

from __future__ import annotations

import json
import pathlib
import re

from matrix_jobs import JOBS, VARIES

REFERENCE = "torch2.11-cp311"
MARK = "<!-- scripts/matrix writes what follows -->\n"


def load(results: pathlib.Path) -> dict[str, dict[str, dict]]:
    """name -> job -> result, in the order of versions and jobs."""
    folders = sorted((folder for folder in results.iterdir() if folder.is_dir()), key=lambda folder: numbers(folder.name))
    return {folder.name: {job: json.loads((folder / f"{job}.json").read_text()) for job in JOBS
                          if (folder / f"{job}.json").exists()} for folder in folders}


def numbers(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def peaks(result: dict) -> str:
    return " + ".join(f"{facts['peak']:,}" for facts in result["traces"] if facts["peak"])


def difference(job: str, result: dict, reference: dict) -> str:
    """The differences of the recording from the reference; empty if there are none."""
    if len(result["traces"]) != len(reference["traces"]):
        return f"{len(result['traces'])} traces, not {len(reference['traces'])}"
    for here, there in zip(result["traces"], reference["traces"]):
        for key, value in there.items():
            if job in VARIES and key in ("peak", "predicted"):
                continue
            if here[key] != value:
                return f"{key} {json.dumps(here[key])}, not {json.dumps(value)}"
    return ""


def cell(job: str, result: dict | None, reference: dict | None) -> tuple[str, bool]:
    """The table's cell for a job, and whether the result is as expected."""
    if result is None:
        return "not run", False
    if result["outcome"] not in ("recorded", "partly"):
        return f"{result['outcome']}: {result['why']}", False
    differs = difference(job, result, reference) if reference is not None else "no reference"
    words = [result["outcome"] + (f": {result['why']}" if result["why"] else "")]
    if job in VARIES:
        words.append(f"peak {peaks(result)}")
    if differs:
        words.append(f"**differs**: {differs}")
    return "; ".join(words), result["outcome"] == "recorded" and not differs


def job_table(results: dict[str, dict[str, dict]]) -> tuple[list[str], bool]:
    reference = results.get(REFERENCE, {})
    lines = ["| torch | CPython | " + " | ".join(JOBS) + " |", "| --- " * (len(JOBS) + 2) + "|"]
    fine = True
    for row in results.values():
        if not row:
            continue
        versions = next(iter(row.values()))
        cells = [cell(job, row.get(job), reference.get(job)) for job in JOBS]
        fine = fine and all(good for _, good in cells)
        lines.append(f"| {versions['torch']} | {versions['cpython']} | " + " | ".join(text for text, _ in cells) + " |")
    lines += ["", "Peaks are not compared where they vary: " + "; ".join(f"{job}: {why}" for job, why in VARIES.items()) + ".",
              "", f"Peaks with {REFERENCE}, in bytes, one number a process:", ""]
    for job, result in reference.items():
        findings = {title for facts in result["traces"] for title, _, _ in facts["findings"]}
        lines.append(f"- {job}: {peaks(result)}; findings: {', '.join(sorted(findings)) or 'none'}")
    return lines, fine


def pair_table(results: pathlib.Path, names: list[str]) -> tuple[list[str], bool]:
    found = {name: {path.stem: json.loads(path.read_text()) for path in (results / name / "met").glob("*.json")}
             for name in names}
    found = {name: row for name, row in found.items() if row}
    if not found:
        return [], True
    columns = [name for name in names if any(name in row for row in found.values())]
    lines = ["| built for | " + " | ".join(columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    fine = True
    for name, row in found.items():
        cells = []
        for column in columns:
            result = row.get(column)
            # With another CPython, stacks and variables are missing; with another torch, everything.
            wanted = "refused" if name.split("-")[0] != column.split("-")[0] else "partly"
            cells.append("" if name == column else "not run" if result is None else result["outcome"])
            if result is not None and result["outcome"] != wanted:
                fine = False
                cells[-1] += f": {result['why']}"
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines, fine


def write(results: pathlib.Path, page: pathlib.Path) -> int:
    """Replaces the text after the mark of the page. Returns 1 if a job or a pair is not as expected."""
    loaded = load(results)
    jobs, jobs_fine = job_table(loaded)
    pairs, pairs_fine = pair_table(results, list(loaded))
    text = page.read_text()
    if MARK not in text:
        raise SystemExit(f"{page} has no line {MARK.strip()}")
    lines = ["## Recorded jobs", "", *jobs]
    if pairs:
        lines += ["", "## Built for one version, met by another", "",
                  "Each row is a build, each column the Python whose job it was given.", "", *pairs]
    page.write_text(text.split(MARK)[0] + MARK + "\n" + "\n".join(lines) + "\n")
    return 0 if jobs_fine and pairs_fine else 1
