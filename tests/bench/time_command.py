"""Runs a command, its output dropped, and prints how long it took as a JSON object; fails if the command fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time


def main() -> None:
    start = time.perf_counter()
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
    print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
