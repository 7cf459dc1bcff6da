"""Writes the tables of docs/support.md from the results that scripts/matrix kept. Rows of the page without a result stay."""

from __future__ import annotations

import dataclasses
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


@dataclasses.dataclass
class Table:
    """A table of the page; its rows by the numbers of the versions that they are about."""

    head: str
    rows: dict[tuple[int, ...], str] = dataclasses.field(default_factory=dict)

    def add(self, *cells: str) -> None:
        # A name has both versions, "torch2.15-cp315"; else they have a column each.
        versions = numbers(cells[0]) if "-" in cells[0] else numbers(cells[0])[:2] + numbers(cells[1])[:2]
        self.rows[tuple(versions)] = row(*cells)

    def lines(self) -> list[str]:
        return [self.head, "| --- " * (self.head.count("|") - 1) + "|", *(self.rows[versions] for versions in sorted(self.rows))]


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def tables_of(page: str) -> dict[str, Table]:
    """The tables of a page by their heads."""
    found, table = {}, None
    for line in page.splitlines():
        if not line.startswith("| "):
            table = None
        elif table is None:
            table = found[line] = Table(line)
        elif not line.startswith("| ---"):
            table.add(*line.removeprefix("| ").removesuffix(" |").split(" | "))
    return found


def job_table(results: dict[str, dict[str, dict]]) -> tuple[Table, list[str], bool]:
    """The table, the lines about its peaks, and whether all is as expected."""
    reference = results.get(REFERENCE, {})
    table = Table(row("torch", "CPython", *JOBS))
    fine = True
    for recorded in filter(None, results.values()):
        versions = next(iter(recorded.values()))
        cells = [cell(job, recorded.get(job), reference.get(job)) for job in JOBS]
        fine = fine and all(good for _, good in cells)
        table.add(versions["torch"], versions["cpython"], *(text for text, _ in cells))
    lines = ["", "Peaks are not compared where they vary: " + "; ".join(f"{job}: {why}" for job, why in VARIES.items()) + ".",
             "", f"Peaks with {REFERENCE}, in bytes, one number a process:", ""]
    for job, result in reference.items():
        findings = {title for facts in result["traces"] for title, _, _ in facts["findings"]}
        lines.append(f"- {job}: {peaks(result)}; findings: {', '.join(sorted(findings)) or 'none'}")
    return table, lines, fine


def pair_cell(built_for: str, met: str, result: dict | None) -> tuple[str, bool]:
    """The table's cell for a pair, and whether it is as expected: with another CPython, stacks and variables are missing; with
    another torch, everything."""
    if built_for == met or result is None:
        return ("" if built_for == met else "not run"), True
    wanted = "refused" if built_for.split("-")[0] != met.split("-")[0] else "partly"
    fine = result["outcome"] == wanted
    return result["outcome"] + ("" if fine else f": {result['why']}"), fine


def pair_tables(results: pathlib.Path, names: list[str]) -> tuple[list[Table], bool]:
    """A table for each CPython that met several torches, and for each torch that met several CPythons."""
    found = {name: {path.stem: json.loads(path.read_text()) for path in (results / name / "met").glob("*.json")}
             for name in names}
    shared: dict[str, set[str]] = {}
    for name, met in ((name, met) for name, others in found.items() for met in others):
        for part in set(name.split("-")) & set(met.split("-")):
            shared.setdefault(part, set()).add(met)
    tables, fine = [], True
    for part, members in shared.items():
        columns = [name for name in names if name in members]
        tables.append(Table(row("built for", *columns)))
        for name in (name for name in names if part in name.split("-") and found[name]):
            cells = [pair_cell(name, met, found[name].get(met)) for met in columns]
            fine = fine and all(good for _, good in cells)
            tables[-1].add(name, *(text for text, _ in cells))
    return tables, fine


def write(results: pathlib.Path, page: pathlib.Path) -> int:
    """Replaces the text after the mark of the page. Returns 1 if a job or a pair is not as expected."""
    loaded = load(results)
    jobs, about_peaks, jobs_fine = job_table(loaded)
    pairs, pairs_fine = pair_tables(results, list(loaded))
    before, mark, after = page.read_text().partition(MARK)
    if not mark:
        raise SystemExit(f"{page} has no line {MARK.strip()}")
    kept = tables_of(after)
    for table in (jobs, *pairs):
        table.rows = {**kept.pop(table.head, table).rows, **table.rows}
    pairs += kept.values()
    lines = ["## Recorded jobs", "", *jobs.lines(), *about_peaks]
    if pairs:
        lines += ["", "## Built for one version, met by another", "",
                  "Each row is a build, each column the Python whose job it was given. With another torch all is refused; with",
                  "another CPython, stacks and variables are off (\"partly\")."]
    for table in pairs:
        lines += ["", *table.lines()]
    page.write_text(before + MARK + "\n" + "\n".join(lines) + "\n")
    return 0 if jobs_fine and pairs_fine else 1
