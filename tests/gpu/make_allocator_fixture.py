"""Makes what tests/reserved_test.py reads of recorded runs of tests/programs/allocator_kinds.py: of each trace the rows
about torch's allocator, and what torch itself counted at the marks, in one compressed file.

Usage: python tests/gpu/make_allocator_fixture.py FOLDER tests/testdata/allocator_runs.tar.xz NAME...

FOLDER has NAME.dcmt, recorded with detail `full` on a GPU with torch 2.11, and NAME.json, which the program wrote. The
peaks of every run in FOLDER are in peaks.json, for the predictions.
"""

from __future__ import annotations

import io
import json
import pathlib
import sqlite3
import sys
import tarfile

KEPT = {"meta", "string", "thread", "block", "segment", "allocator", "oom", "interval", "interval_curve", "gpu_memory"}
MOST_BYTES = 500 << 10  # of the file, since it lies in the repository


def slim(trace: pathlib.Path, program: str | None = None) -> bytes:
    """The rows about the allocator; with the stacks of a program, if it is given."""
    stacks = {"frame", "stack"} if program else set()
    database = sqlite3.connect(":memory:")
    sqlite3.connect(trace).backup(database)
    tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        if table not in KEPT | stacks and not table.startswith("sqlite_"):
            database.execute(f"DELETE FROM {table}")
    database.execute("DELETE FROM block WHERE gpu IS NULL")
    database.execute(
        "UPDATE block SET storage_back = NULL, thread = 0, operator_back = NULL, free_thread = 0,"
        " free_operator_back = NULL, free_stack = NULL, owner = NULL, module = NULL"
    )
    if not program:
        database.execute("UPDATE block SET stack = NULL")
    # Times are noise, which does not compress.
    database.execute("UPDATE block SET from_ns = id, ns_length = seq_length, wait_ns_length = wait_seq_length")
    database.execute("UPDATE segment SET from_ns = from_seq, to_ns = to_seq")
    database.execute("UPDATE oom SET operator = NULL, stack = NULL")
    used = "SELECT settings FROM allocator"
    if program:
        of_program = f"FROM frame JOIN string ON string.id = file WHERE text LIKE '%/{program}'"
        used += f" UNION SELECT file {of_program} UNION SELECT function {of_program}"
    database.execute(f"UPDATE string SET text = '' WHERE id NOT IN ({used})")
    if program:
        database.execute("UPDATE string SET text = ? WHERE text LIKE ?", (program, f"%/{program}"))
    database.execute("DELETE FROM meta WHERE key IN ('command', 'origins')")
    database.commit()
    database.execute("VACUUM")
    return database.serialize()


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = {}
    for name in sys.argv[3:]:
        files[f"{name}.dcmt"] = slim(folder / f"{name}.dcmt")
        files[f"{name}.json"] = (folder / f"{name}.json").read_bytes()
    peaks = {
        path.stem: max(mark["reserved_peak"] for mark in json.loads(path.read_text())["marks"])
        for path in sorted(folder.glob("*.json"))
    }
    files["peaks.json"] = json.dumps(peaks).encode()
    with tarfile.open(out, "w:xz", preset=9) as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    size = out.stat().st_size
    print(f"{out}: {size} bytes of {len(files)} files")
    if size > MOST_BYTES:
        sys.exit(f"more than {MOST_BYTES}")


if __name__ == "__main__":
    main()
