"""Tables of all ranks, read by each reader of docs/convert.md exactly as its line says; sums are SQLite's own.

Run by scripts/soak where DCMT_READERS_PYTHON is a Python that has some of the readers: duckdb, polars, pyarrow, ray[data],
pyspark (with Java). Readers that it lacks are skipped. The tables are written by the tests' own Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict

import pytest
import recorded

PYTHON = os.environ["DCMT_READERS_PYTHON"]

PROGRAM = """
import torch
rank = int({rank})
kept = [torch.ones(50_000) for _ in range(3 + rank)]
freed = torch.ones(100_000 * (2 + rank))
del freed
"""

# What each line of the page needs before it, and how its rows are listed.
READERS = {
    "DuckDB": ("duckdb", "import duckdb", "duckdb.sql('SELECT * FROM ' + line).to_arrow_table().to_pylist()"),
    "Polars": ("polars", "import polars", "eval(line).collect().to_dicts()"),
    "pyarrow": ("pyarrow", "import pyarrow.dataset", "eval(line).to_table().to_pylist()"),
    "Ray Data": (
        "ray.data",
        "import ray\nray.init('local', num_cpus=1, include_dashboard=False, logging_level='ERROR', log_to_driver=False)",
        "eval(line).take_all()",
    ),
    "Spark": (
        "pyspark.sql",
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()",
        "[row.asDict() for row in eval(line).collect()]",
    ),
}

READ = """
import json, sys
{before}
for line in sys.argv[2:]:
    rows = {rows}
    print(json.dumps(rows), file=open(sys.argv[1], "a"))
"""


def lines_of_page() -> dict[str, str]:
    """The line for each reader, from the page's table."""
    page = (recorded.ROOT / "docs" / "convert.md").read_text()
    table = page.split("| reader | the table |")[1].split("\n\n")[0]
    return dict(re.findall(r"^\| ([A-Za-z ]+) \| `(.+)` \|$", table, re.MULTILINE))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A launch of two ranks, and a process without a rank, with their tables."""
    folder = tmp_path_factory.mktemp("readers")
    (folder / "ranked.py").write_text(PROGRAM.format(rank="__import__('os').environ['RANK']"))
    (folder / "alone.py").write_text(PROGRAM.format(rank="5"))
    (folder / "both.sh").write_text(
        f"{sys.executable} -m torch.distributed.run --standalone --nproc_per_node 2 {folder}/ranked.py &&"
        f" {sys.executable} {folder}/alone.py\n"
    )
    for arguments in (("run", "-o", folder / "out", "--detail", "full", "--", "sh", folder / "both.sh"),
                      ("convert", folder / "out", "--to", "parquet", "-o", folder / "tables", "--python", sys.executable)):  # fmt: skip
        result = recorded.tool(*arguments)
        assert result.returncode == 0, result.stdout + result.stderr
    return folder


def sums_of_sqlite(out) -> dict:
    """Of each rank: blocks, their bytes, how many of them are never freed, and the peak."""
    sums = {}
    for trace in recorded.traces(out / "out"):
        (of_blocks,) = recorded.query(trace, "SELECT count(*), sum(bytes), sum(to_seq IS NULL) FROM block")
        rank = recorded.meta(trace)["rank"]
        sums[rank if rank >= 0 else None] = (*of_blocks, recorded.peak_of(trace))
    assert sorted(map(str, sums)) == ["0", "1", "None"]
    return sums


def sums_of_rows(lifetimes: list[dict], curve: list[dict]) -> dict:
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for row in lifetimes:
        of = sums[row["rank"]]
        of[0] += 1
        of[1] += row["bytes"]
        of[2] += row["to_seq"] is None or row["to_seq"] != row["to_seq"]  # pandas has no integer that is missing
    for row in curve:
        sums[row["rank"]][3] = max(sums[row["rank"]][3], row["allocated_bytes"])
    return {rank: tuple(of) for rank, of in sums.items()}


def read(reader: str, folder, lines: list[str]) -> list[list[dict]]:
    """The rows that a reader has for each line."""
    module, before, rows = READERS[reader]
    found = subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip(f"{PYTHON} cannot import {module}")
    result = folder / "rows.json"
    result.unlink(missing_ok=True)
    done = subprocess.run(
        [PYTHON, "-W", "ignore", "-c", READ.format(before=before, rows=rows), result, *lines],
        cwd=folder, env={**os.environ, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in result.read_text().splitlines()]


def test_the_page_has_a_line_for_each_reader():
    assert lines_of_page().keys() == READERS.keys()


@pytest.mark.parametrize("reader", READERS)
def test_sums_of_each_rank_are_those_of_sqlite(reader, out):
    line = lines_of_page()[reader]
    lifetimes, curve = read(reader, out, [line, line.replace("lifetimes", "curve")])
    sums = sums_of_rows(lifetimes, curve)
    if reader == "Ray Data":  # has ranks as text, as the page says
        sums = {None if rank == "__HIVE_DEFAULT_PARTITION__" else int(rank): of for rank, of in sums.items()}
    assert sums == sums_of_sqlite(out)


def test_ray_data_has_ranks_as_numbers_where_each_process_has_one(out, tmp_path):
    (typed,) = re.findall(r"`(ray\.data\.read_parquet\(\"tables/lifetimes\", .+)`", (recorded.ROOT / "docs" / "convert.md").read_text())
    shutil.copytree(out / "tables", tmp_path / "tables", ignore=shutil.ignore_patterns("*HIVE*"))
    (rows,) = read("Ray Data", tmp_path, [typed])
    expected = sums_of_sqlite(out)
    assert {rank: sum(row["bytes"] for row in rows if row["rank"] == rank) for rank in (0, 1)} == {
        rank: expected[rank][1] for rank in (0, 1)
    }
