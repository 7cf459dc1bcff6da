"""Records generated programs and their twins, and judges the reports: `check_leaks.py FIRST LAST FOLDER`.

The first finding has to name what keeps the leak in 95 % of the programs that leak, a wrong holder may come first in 1 %, and
1 % of the twins and healthy programs may have a finding. The last line has the totals.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import sys

import leak_programs
import recorded

LEAST = 3 * 128 * 1024, 0.03  # bytes, and share of the twin's peak, that a program keeps which leaks


def holder_of(finding: dict) -> str:
    return " ".join(str(text) for text in ((finding.get("growth") or {}).get("holder"), finding["identity"]["holder"]) if text)


def names(finding: dict, truth: leak_programs.Truth) -> bool:
    return any(re.search(name, holder_of(finding)) for name in truth.names)


def record(folder: pathlib.Path, name: str, *options: str) -> dict:
    """The report of one run of the folder's program."""
    recorded.record(folder / name, "-W", "ignore", folder / "app.py", *options)
    return recorded.report(recorded.traces(folder / name)[0])[0]


@dataclasses.dataclass
class Totals:
    leaks: int = 0
    named: int = 0
    wrong: int = 0
    lines: int = 0
    within_1_percent: int = 0
    within_3_percent: int = 0
    clean: int = 0
    false: int = 0

    def add_clean(self, report: dict) -> None:
        self.clean += 1
        self.false += bool(report["findings"])

    def add_leak(self, truth: leak_programs.Truth, report: dict, twin: dict) -> str:
        """The verdict in a word; of a program that keeps too little, none."""
        peak, needed = report["peak"]["bytes"], twin["peak"]["bytes"]
        if peak - needed < max(LEAST[0], LEAST[1] * needed):
            return "keeps little"
        self.leaks += 1
        findings = report["findings"]
        named = bool(findings) and names(findings[0], truth)
        wrong = bool(findings) and not any(names(finding, truth) for finding in findings)
        predicted = report["peak"]["predicted_bytes"] if findings else peak
        stored_by = [each["site"] for finding in findings[:1] if finding.get("growth")
                     for each in finding["growth"]["stored_by"] + finding["growth"]["called_at"]]
        self.named += named
        self.wrong += wrong
        self.lines += f"app.py:{truth.line}" in stored_by
        self.within_1_percent += abs(predicted - needed) <= 0.01 * needed
        self.within_3_percent += abs(predicted - needed) <= 0.03 * needed
        return "named" if named else "WRONG" if wrong else "missed"

    def is_good(self) -> bool:
        return self.named >= 0.95 * self.leaks and self.wrong <= 0.01 * self.leaks and self.false <= 0.01 * self.clean


def main(first: int, last: int, work: pathlib.Path) -> int:
    totals = Totals()
    for seed in range(first, last + 1):
        truth = leak_programs.write(work / str(seed), seed)
        report = record(work / str(seed), "leak")
        if truth.healthy:
            totals.add_clean(report)
            verdict = "silent" if not report["findings"] else "FALSE " + holder_of(report["findings"][0])
        else:
            twin = record(work / str(seed), "twin", "--clean")
            totals.add_clean(twin)
            verdict = totals.add_leak(truth, report, twin) + ("" if not twin["findings"] else ", twin FALSE")
        print(f"{seed} {truth.kind}/{truth.value}/{truth.loop}/{truth.scope}/{truth.turns}: {verdict}", flush=True)
    print(totals)
    return 0 if totals.is_good() else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])))
