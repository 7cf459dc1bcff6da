"""The duration of each census in a trace: from the record of its begin to that of its end. Prints one JSON object."""

from __future__ import annotations

import argparse
import json
import pathlib
import sqlite3
import statistics

import statistics_of_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="with the one trace of a run")
    arguments = parser.parse_args()
    (trace,) = arguments.folder.glob("*.dcmt")
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        micros = [ns / 1000 for (ns,) in database.execute("SELECT to_ns - from_ns FROM mark WHERE kind = 'census'")]
    if not micros:
        raise SystemExit(f"{trace}: no census in it")
    print(json.dumps({"count": len(micros), "mean_us": statistics.fmean(micros),
                      "median_us": statistics_of_pairs.median_interval(micros), "max_us": max(micros)}))


if __name__ == "__main__":
    main()
