"""Runs a command, its output dropped, and prints its duration and its highest memory as a JSON object; fails if the
command fails."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time


def main() -> None:
    start = time.perf_counter()
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - start
    # For a command that uses less memory than this process, it is the memory of this process.
    peak_rss_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak_rss_kib": peak_rss_kib}))


if __name__ == "__main__":
    main()
