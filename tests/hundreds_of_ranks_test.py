"""A run of many ranks: the one that differs is named with its line, from summaries that say what the traces say; its
tables are Parquet that is partitioned by rank.

With DCMT_ALL_CASES=1, 256 ranks are reported and 1,000 are queried, in the time and the memory that are promised.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import pytest
import recorded
from simulated_ranks import KEEPS, simulate

ODD = 5  # the rank that keeps its outputs
LINE = "rank.py:8 <module>"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Traces of a rank that keeps nothing, and of one that does. Each was recorded in its own run, as with srun."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "rank.py").write_text(KEEPS)
    traces = []
    for keeps in ("false", "true"):
        recorded.record(folder / keeps, folder / "rank.py", keeps, env=recorded.environment(RANK="0", WORLD_SIZE="8"))
        traces += recorded.traces(folder / keeps)
    return traces


@pytest.fixture
def ranks(recordings, tmp_path):
    return simulate(tmp_path / "out", recordings[0], 8, {ODD: recordings[1]})


def output(*arguments):
    result = recorded.tool(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def summaries(folder):
    return sorted(folder.glob("*.summary"))


def test_a_rank_is_summarized_when_its_run_ends(recordings):
    for trace in recordings:
        assert [path.name for path in summaries(trace.parent)] == [trace.name + ".summary"]


def test_the_odd_rank_is_named_and_those_that_are_alike_are_reported_once(ranks):
    text = output("report", ranks)
    assert "rank 5" in text.splitlines()[0] and "ranks 0 to 4, 6, 7" in text.splitlines()[0]
    assert LINE in text.splitlines()[1]
    assert "main.log holds it on rank 5." in text.splitlines()[1]
    titles = [line for line in text.splitlines() if line.startswith("== ")]
    assert titles == ["== rank 5", "== rank 0, like ranks 1 to 4, 6, 7"]
    alone = output("report", ranks / "rank5.dcmt").splitlines()
    assert alone[0] in text and "main.log" in alone[0]
    assert text.splitlines()[-1] == alone[-1]
    assert text == output("report", ranks), "from summaries"


def test_summaries_say_what_the_traces_say(ranks):
    shown = output("show", "ranks", "--json", ranks)
    written = summaries(ranks)
    assert len(written) == 8 and {path.stat().st_mode & 0o777 for path in written} == {0o600}
    again = output("show", "ranks", "--json", ranks)
    assert again == shown
    reports = {report["rank"]: report for report in recorded.report(ranks)}
    said = json.loads(shown)
    assert [rank["rank"] for rank in said["ranks"]] == sorted(reports)
    for rank in said["ranks"]:
        report = reports[rank["rank"]]
        assert [device["peak_bytes"] for device in rank["devices"]] == [each["bytes"] for each in report["devices"]]
        assert [device["predicted_bytes"] for device in rank["devices"]] == [
            each["predicted_bytes"] for each in report["devices"]
        ]
        assert (rank["steps"], rank["lost"]) == (report["facts"]["steps"], report["facts"]["lost"])
    (finding,) = said["findings"]
    (own,) = reports[ODD]["findings"]
    assert all(report["findings"] == [] for rank, report in reports.items() if rank != ODD)
    assert (finding["title"], finding["place"]) == (own["title"], own["growth"]["sites"][0]["site"])
    assert finding["with"] == [{"ranks": [ODD], "bytes": own["bytes"]}]


def test_a_summary_of_another_state_of_the_trace_is_not_read(ranks, recordings):
    before = output("show", "ranks", "--json", ranks)
    (ranks / "rank2.dcmt.summary").write_text("damaged")
    assert output("show", "ranks", "--json", ranks) == before
    other = simulate(ranks.parent / "other", recordings[0], 8, {2: recordings[1]})
    for rank in (2, ODD):
        shutil.copy(other / f"rank{rank}.dcmt", ranks / f"rank{rank}.dcmt")
    assert "main.log holds it on rank 2." in output("report", ranks)
    assert recorded.tool("report", ranks, "--fail-on-findings").returncode == 1


def test_a_folder_that_cannot_be_written_to_is_reported(ranks):
    before = output("report", ranks)
    for path in summaries(ranks):
        path.unlink()
        path.mkdir()  # no user can create a file with this name, not even root
    assert output("report", ranks) == before


PYTHON = recorded.python_with("pyarrow.parquet")
needs_pyarrow = pytest.mark.skipif(PYTHON is None, reason="no Python here has pyarrow")
DUCKDB = recorded.python_with("duckdb")
needs_duckdb = pytest.mark.skipif(DUCKDB is None or PYTHON is None, reason="no Python here has duckdb, or none pyarrow")

# For each place, the rank with most bytes there at the end of the run, and how much more than usual it has.
QUERY = """
import duckdb, json, sys
lifetimes = f"read_parquet('{sys.argv[1]}/lifetimes/*/*.parquet', hive_partitioning = true)"
curve = f"read_parquet('{sys.argv[1]}/curve/*/*.parquet', hive_partitioning = true)"
print(json.dumps(duckdb.sql(f'''
    WITH peaks AS (SELECT rank, max(allocated_bytes) AS peak, arg_max(seq, allocated_bytes) AS seq FROM {curve} GROUP BY rank),
    alive AS (SELECT rank, site, sum(bytes) AS bytes FROM {lifetimes} JOIN peaks USING (rank)
              WHERE from_seq <= seq AND coalesce(to_seq > seq, true) GROUP BY rank, site)
    SELECT site, arg_max(rank, bytes), max(bytes) - median(bytes) AS more, any_value(ranks)
    FROM alive, (SELECT count(*) AS ranks FROM peaks) GROUP BY site ORDER BY more DESC LIMIT 1
''').fetchall()))
"""


def queried(tables):
    done = subprocess.run([DUCKDB, "-I", "-c", QUERY, str(tables)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)[0]


@needs_pyarrow
def test_tables_are_partitioned_by_rank(ranks):
    tables = ranks.parent / "tables"
    output("convert", ranks, "--to", "parquet", "-o", tables, "--python", PYTHON)
    for table in ("lifetimes", "curve"):
        names = sorted(str(path.relative_to(tables / table)) for path in (tables / table).rglob("*.parquet"))
        assert names == [f"rank={rank}/rank{rank}.parquet" for rank in range(8)]
    single = ranks.parent / "single.parquet"
    output("convert", ranks / "rank5.dcmt", "--to", "parquet", "-o", single, "--python", PYTHON)
    assert (tables / "lifetimes" / "rank=5" / "rank5.parquet").read_bytes() == single.read_bytes()
    line = recorded.one_line(recorded.tool("convert", ranks, "--to", "parquet", "-o", tables, "--python", PYTHON), 3)
    assert "is not empty" in line


@needs_pyarrow
def test_tables_that_cannot_be_written_leave_nothing(ranks):
    (ranks / "rank7.dcmt").write_bytes((ranks / "rank7.dcmt").read_bytes()[:20_000])
    tables = ranks.parent / "tables"
    result = recorded.tool("convert", ranks, "--to", "parquet", "-o", tables, "--python", PYTHON)
    recorded.one_line(result, 3)
    assert not tables.exists()


@needs_duckdb
def test_duckdb_names_the_odd_rank_and_its_line(ranks):
    tables = ranks.parent / "tables"
    output("convert", ranks, "--to", "parquet", "-o", tables, "--python", PYTHON)
    site, rank, more, count = queried(tables)
    assert site.endswith(LINE) and (rank, count) == (ODD, 8) and more >= 4 << 20


@recorded.for_soak
def test_256_ranks_in_ten_seconds_and_512_mib(recordings, tmp_path):
    folder = simulate(tmp_path / "out", recordings[0], 256, {137: recordings[1]})
    for again in (False, True):
        begin = time.monotonic()
        report = subprocess.Popen([recorded.TOOL, "report", folder], stdout=subprocess.PIPE, text=True)
        text = report.stdout.read()
        _, report.returncode, usage = os.wait4(report.pid, 0)
        took = time.monotonic() - begin
        assert report.returncode == 0
        assert "main.log holds it on rank 137." in text.splitlines()[1] and LINE in text.splitlines()[1]
        assert took <= 10, (again, took)
        assert usage.ru_maxrss <= 512 * 1024
        print(f"256 ranks reported in {took:.2f} s and {usage.ru_maxrss / 1024:.0f} MiB, {'from summaries' if again else 'the first time'}")


@recorded.for_soak
@needs_duckdb
def test_1000_ranks_queried_in_ten_seconds(recordings, tmp_path):
    folder = simulate(tmp_path / "out", recordings[0], 1000, {777: recordings[1]})
    tables = tmp_path / "tables"
    assert recorded.tool("convert", folder, "--to", "parquet", "-o", tables, "--python", PYTHON, timeout=900).returncode == 0
    begin = time.monotonic()
    site, rank, more, count = queried(tables)
    took = time.monotonic() - begin
    assert site.endswith(LINE) and (rank, count) == (777, 1000)
    assert took <= 10
    print(f"1,000 ranks queried in {took:.1f} s")
