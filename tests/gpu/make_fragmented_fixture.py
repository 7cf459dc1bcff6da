"""Makes what tests/reserved_test.py reads of recorded runs of tests/programs/cuda_fragmented.py: of each trace the rows
about torch's allocator with their stacks, and what runs under other settings reserved at most.

Usage: python tests/gpu/make_fragmented_fixture.py FOLDER tests/testdata/fragmented_runs.tar.xz

FOLDER has KIND.dcmt, recorded with detail `full` on a GPU with torch 2.11, and peaks.txt, a line for each run:
KIND|SETTINGS|what the program printed, with the settings "recorded" for the recorded run, "changed" for --changed.
"""

from __future__ import annotations

import io
import json
import pathlib
import sys
import tarfile

from make_allocator_fixture import slim


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    peaks: dict[str, dict[str, int]] = {}
    for line in (folder / "peaks.txt").read_text().splitlines():
        kind, settings, printed = line.split("|")
        peaks.setdefault(kind, {})[settings] = json.loads(printed)["reserved"]
    files = {f"{kind}.dcmt": slim(folder / f"{kind}.dcmt", "cuda_fragmented.py") for kind in sorted(peaks)}
    files["peaks.json"] = json.dumps(peaks, sort_keys=True).encode()
    with tarfile.open(out, "w:xz", preset=9) as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    print(f"{out}: {out.stat().st_size} bytes of {len(files)} files")


if __name__ == "__main__":
    main()
