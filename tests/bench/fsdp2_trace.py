"""Writes a trace of FSDP2 without recording one: so many steps, in each of which so many parameters are gathered and
released.

Usage: fsdp2_trace.py FILE STEPS PARAMETERS
"""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from written_trace import Trace, fsdp2  # noqa: E402


def main() -> None:
    file, steps, parameters = sys.argv[1:]
    trace = Trace(pathlib.Path(file))
    fsdp2(trace, int(steps), int(parameters))
    trace.save()


if __name__ == "__main__":
    main()
