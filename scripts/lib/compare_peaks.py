"""Compares the peak predicted in one `dc-memtrace report --json` with that measured in another; exit 1 if they differ."""

import argparse
import json
import pathlib
import sys


def peak_of(document: pathlib.Path) -> dict:
    traces = json.loads(document.read_text())["traces"]
    if len(traces) != 1:
        raise SystemExit(f"expected one trace, found {len(traces)}")
    return traces[0]["peak"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("defect", type=pathlib.Path, help="report of the run with the defect")
    parser.add_argument("fixed", type=pathlib.Path, help="report of the run with the fix")
    arguments = parser.parse_args()
    defect, fixed = peak_of(arguments.defect), peak_of(arguments.fixed)
    predicted, measured = defect["predicted_bytes"], fixed["bytes"]
    verdict = "equal" if predicted == measured else f"DIFFERENT by {measured - predicted:+,} B"
    print(
        f"peak with the defect {defect['bytes']:,} B · predicted without it {predicted:,} B · "
        f"measured with the fix {measured:,} B: {verdict}"
    )
    return 0 if predicted == measured else 1


if __name__ == "__main__":
    sys.exit(main())
