"""`convert --redact`: the copy contains no text of the program, and its report has the same bytes."""

from __future__ import annotations

import pathlib
import re
import shutil
import sqlite3
import tomllib

import pytest
import recorded
import written_trace

# Public words: see docs/convert.md.
PUBLIC = re.compile(
    r"(aten|prim|prims|c10d|_c10d_functional|c10d_functional|profiler|inductor|torchvision|fsdp|dc)::.*"
    r"|(autograd::engine::evaluate_function: )?\w*Backward\d+|torch::autograd::AccumulateGrad|\d+(\.\d+)*"
    r"|cuBLAS(Lt)? workspace|pinned host memory|under 64 KiB, not followed|cpu|cuda:\d+"
)

SECRET = '''
"""The customer's plan: do not show."""
import sys
import torch
import dc_memtrace

class HushNetwork(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden_projection = torch.nn.Linear(256, 256)
    def forward(self, inputs):
        return self.hidden_projection(inputs)

confidential_archive = []

def undisclosed_training(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(12):
        with torch.profiler.record_function("whispered scope"):
            classified_output = model(torch.ones(512, 256))
        classified_output.sum().backward()
        confidential_archive.append(classified_output.detach())
        optimizer.step()
        optimizer.zero_grad()
        dc_memtrace.mark("clandestine moment")

undisclosed_training(HushNetwork())
'''
OUTPUT = 512 * 256 * 4  # bytes of classified_output
WORDS = ("HushNetwork", "hidden_projection", "confidential_archive", "undisclosed_training", "classified_output", "whispered",
         "clandestine", "customer", "classified_folder", "covert_program", "hunter2", "password")


def recorded_secret(folder):
    script = folder / "classified_folder" / "covert_program.py"
    script.parent.mkdir()
    script.write_text(SECRET)
    recorded.record(folder / "out", script, "--password=hunter2", detail="full")
    (trace,) = recorded.traces(folder / "out")
    return trace


def recorded_releases(folder):
    recorded.record(folder / "out", recorded.SAMPLE, detail="full", flags=recorded.SAMPLE_OPERATORS)
    (trace,) = recorded.traces(folder / "out")
    return trace


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    return recorded_secret(tmp_path_factory.mktemp("secret"))


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    return recorded_releases(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="module", params=["secret", "releases"])
def both(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("redacted")
    trace = request.getfixturevalue(request.param)
    redacted = folder / "redacted.dcmt"
    result = recorded.tool("convert", trace, "--to", "trace", "--redact", "-o", redacted)
    assert result.returncode == 0, result.stderr
    return trace, redacted


def texts_of(trace):
    """All texts and blobs in all columns of all tables."""
    database = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
    database.text_factory = bytes
    texts = set()
    for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        table = table.decode()
        for row in database.execute(f"SELECT * FROM {table}"):
            texts |= {value.decode(errors="replace") for value in row if isinstance(value, bytes)}
    return texts


def words_of_traces(trace):
    """Kinds, flags and the like, from columns that contain no names."""
    columns = (("mark", "kind"), ("mark", "flags"), ("mark", "trigger"), ("edge", "held"), ("edge", "holder"),
               ("edge", "confidence"), ("sample", "subject"), ("interval", "kept"), ("diagnostic", "code"), ("loss", "reason"),
               ("held", "role"), ("meta", "key"), ("operator", "scope"), ("mapped", "class"), ("job_process", "role"),
               ("job_shared", "kind"))
    words = set()
    for table, column in columns:
        words |= {row[0] for row in recorded.query(trace, f"SELECT DISTINCT {column} FROM {table}") if row[0]}
    return words | {row[0] for row in recorded.query(trace, "SELECT value FROM meta WHERE key IN ('state', 'detail', 'exit')")}


def public_words():
    """The public words in docs/convert.md."""
    page = (recorded.ROOT / "docs" / "convert.md").read_text()
    (words,) = re.findall(r"These words stay: (.*?)\n\n", page, re.DOTALL)
    return set(re.findall(r"`([^`]+)`", words))


def test_no_path_name_or_source_line_of_the_trace_is_in_the_copy(both, tmp_path):
    trace, redacted = both
    written_trace.Trace(tmp_path / "empty.dcmt").save()
    empty = (tmp_path / "empty.dcmt").read_bytes()
    names = {row[0] for row in recorded.query(redacted, "SELECT text FROM string")}
    words_of_names = {word for name in names if not PUBLIC.fullmatch(name)
                      for word in re.findall(r"\w+", name)}
    content = redacted.read_bytes()
    allowed = words_of_traces(trace) | public_words()
    texts = texts_of(trace)
    lines = {line.strip() for text in texts if "\n" in text for line in text.splitlines()}
    stays = "\n".join([*allowed, *(text for text in texts if PUBLIC.fullmatch(text))]).encode() + empty
    parts = {part for text in texts if text.startswith("/") for part in re.split(r"[/.]", text)}
    public = public_words()
    searched = 0
    for text in texts | lines | parts:
        # Shorter texts may occur anywhere by chance.
        if len(text) < 5 or text in allowed or PUBLIC.fullmatch(text) or not re.search(r"[A-Za-z]", text):
            continue
        if set(re.findall(r"[A-Za-z_]\w*", text)) <= public:
            continue
        searched += 1
        if text.strip("_").encode() in stays:  # a part of a word that may be there, but for a byte beside it
            assert text not in names and text not in words_of_names, text
        else:
            assert text.encode() not in content, text
    assert searched > 60
    short = {text for text in texts if len(text) < 5} - allowed - public_words()
    assert not [text for text in short if re.search(r"[A-Za-z]", text) and not PUBLIC.fullmatch(text)
                and text in texts_of(redacted)]
    for word in WORDS:
        assert word.encode() not in content, word


def test_every_table_is_copied(both):
    """All tables except those with files, and those that finishing a trace makes anew."""
    trace, redacted = both
    tables = {name for (name,) in recorded.query(trace, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
    counts = [{table: recorded.query(path, f"SELECT count(*) FROM {table}")[0][0] for table in tables - {"meta", "source"}}
              for path in both]
    assert counts[0] == counts[1]


def test_the_words_that_are_searched_are_in_the_trace(secret):
    content = secret.read_bytes()
    assert len([word for word in WORDS if word.encode() in content]) >= 8


def essence(trace):
    (report,) = recorded.report(trace)
    peak = report["peak"]
    return {
        "peak": {key: peak[key] for key in ("bytes", "dead_bytes", "predicted_bytes", "step", "phase", "device", "at")},
        "sites": sorted(site["bytes"] for site in peak["by_site"]),
        "holders": sorted(group["bytes"] for group in peak["by_holder"]),
        "categories": [(group["name"], group["bytes"]) for group in peak["by_category"]],
        "remarks": len(report["remarks"]),
        "kinds": [(group["name"], group["bytes"]) for group in peak["by_kind"]],
        "findings": [(finding["rule"], finding["bytes"], len(finding["items"])) for finding in report["findings"]],
        "releases": report["releases"],
        "steps": [{key: value for key, value in step.items() if not key.startswith("predicted_")} for step in report["steps"]],
        "records": report["facts"]["records"],
    }


def predicted_steps(trace):
    (report,) = recorded.report(trace)
    return [(step["predicted_begin_bytes"], step["predicted_peak_bytes"]) for step in report["steps"]]


def test_the_copy_says_the_same_in_bytes(both):
    trace, redacted = both
    before, after = essence(trace), essence(redacted)
    assert after == before
    assert before["findings"]
    # Statements say that a variable has its value until the next one. Without them it may be taken to have it only until
    # the step ends: of one output the copy may say less.
    for exact, predicted, step in zip(predicted_steps(trace), predicted_steps(redacted), before["steps"], strict=True):
        assert 0 <= exact[0] - predicted[0] <= OUTPUT and 0 <= exact[1] - predicted[1] <= OUTPUT
        assert exact[0] <= step["begin_bytes"] and exact[1] <= step["peak_bytes"]


def counts_of(trace, baseline):
    result = recorded.tool("check", "--update", "--baseline", baseline, trace)
    assert result.returncode == 0, result.stdout + result.stderr
    return {name: fact["count"] for name, fact in recorded.baseline_section(baseline).items() if name.startswith("gathers")}


def test_gathers_keep_their_origins(tmp_path):
    """By frames of libraries, and by frames and operators of a user's own table, of which no name is kept."""
    trace = written_trace.Trace(tmp_path / "gathers.dcmt")
    places = [("/home/me/lib/python3.11/site-packages/torch/fsdp/_state.py", "pre_forward", "dc::gather"),
              ("/home/me/train.py", "hidden", "secret[1]::gather_all"), ("/home/me/clandestine/probe.py", "<lambda>", "dc::gather"),
              ("/home/me/train.py", "hidden", "dc::gather")]  # fmt: skip
    rows = ("hook\t\ttorch/fsdp/_state.py\tpre_*\t\ncovert stage\tsecret*::gather_*\t\t\t\n"
            "profiling\t\tclandestine/probe.py\t\ttrial\n")  # fmt: skip
    for key, (file, function, name) in enumerate(places):
        frame = trace.next_seq()
        trace.insert("frame", id=frame, file=trace.string(file), function=trace.string(function), line=7)
        trace.insert("stack", id=frame, frame=frame)
        trace.lifetime("storage", storage := trace.next_seq(), None, address=4096 * storage, bytes=1024, first_seen=0)
        at = trace.next_seq()
        trace.mark(at, at, "gather", name=trace.string(name), graph=0, key=key, storage=storage, bytes=1024, stack=frame)
        release, settled = trace.next_seq(), trace.next_seq()
        trace.release(release, key, storage, settled, 0)
        trace.next_seq()
    trace.save()
    with sqlite3.connect(tmp_path / "gathers.dcmt") as database:
        database.execute("INSERT OR REPLACE INTO meta VALUES('origins', ?)", [rows])
    before = counts_of(tmp_path / "gathers.dcmt", tmp_path / "before.json")
    assert before == {"gathers": 3, "gathers.hook": 1, "gathers.covert_stage": 1, "gathers.dc::gather": 1}
    redacted = tmp_path / "redacted.dcmt"
    assert recorded.tool("convert", tmp_path / "gathers.dcmt", "--to", "trace", "--redact", "-o", redacted).returncode == 0
    after = counts_of(redacted, tmp_path / "after.json")
    assert after["gathers.hook"] == 1 and sorted(after.values()) == sorted(before.values())
    content = redacted.read_bytes()
    assert not [word for word in (b"covert", b"secret", b"clandestine", b"hidden", b"pre_") if word in content]


def test_every_origin_of_the_shipped_table_stays(tmp_path):
    shipped = tomllib.loads((recorded.ROOT / "collector/recorder/operators.toml").read_text())
    origins = {row["origin"] for row in shipped["origin"]}
    assert len(origins) > 4
    trace = written_trace.Trace(tmp_path / "gathers.dcmt")
    frames = {f"/packages/{number}.py": origin for number, origin in enumerate(sorted(origins))}
    for file in frames:
        trace.insert("frame", id=trace.next_seq(), file=trace.string(file), function=trace.string("f"), line=7)
    trace.save()
    with sqlite3.connect(tmp_path / "gathers.dcmt") as database:
        rows = "".join(f"{origin}\t\t{file}\t\t\n" for file, origin in frames.items())
        database.execute("INSERT OR REPLACE INTO meta VALUES('origins', ?)", [rows])
    redacted = tmp_path / "redacted.dcmt"
    done = recorded.tool("convert", tmp_path / "gathers.dcmt", "--to", "trace", "--redact", "-o", redacted)
    assert done.returncode == 0, done.stderr
    ((kept,),) = recorded.query(redacted, "SELECT value FROM meta WHERE key = 'origins'")
    assert {row.split("\t")[0] for row in kept.splitlines()} == origins


def test_equal_names_stay_equal(both):
    trace, redacted = both
    sites = "SELECT count(DISTINCT file), count(DISTINCT function), count(*) FROM frame"
    assert recorded.query(redacted, sites) == recorded.query(trace, sites)
    distinct = "SELECT count(DISTINCT text) FROM string"
    ((names,),) = recorded.query(redacted, distinct)
    ((all_texts,),) = recorded.query(trace, distinct)
    assert names > 0.9 * all_texts
    assert recorded.query(redacted, "SELECT count(*) FROM string WHERE text LIKE '%name_1.py%' OR text LIKE '%name_1%'")[0][0]


def test_the_command_line_and_the_process_are_gone(both):
    _, redacted = both
    values = dict(recorded.query(redacted, "SELECT key, value FROM meta"))
    assert values["command"] == "" and values["pid"] == 0 and values["start_real_ns"] == 0
    assert recorded.query(redacted, "SELECT count(*) FROM source") == [(0,)]
    assert recorded.query(redacted, "SELECT count(*) FROM thread WHERE tid != 0") == [(0,)]


def test_a_foreign_trace_keeps_no_text_in_other_columns(secret, tmp_path):
    """SQLite allows any type in any column."""
    trace = pathlib.Path(shutil.copy(secret, tmp_path / "foreign.dcmt"))
    database = sqlite3.connect(trace)
    database.execute("UPDATE mark SET flags = 'stowaway_flag', value = 'stowaway_value' WHERE kind = 'phase'")
    database.execute("INSERT INTO meta VALUES('stowaway_key', 'stowaway_text')")
    database.execute("UPDATE thread SET tid = 'stowaway_tid'")
    database.commit()
    database.close()
    redacted = tmp_path / "redacted.dcmt"
    recorded.tool("convert", trace, "--to", "trace", "--redact", "-o", redacted)
    assert b"stowaway" not in redacted.read_bytes()


def test_only_a_trace_is_redacted(tmp_path):
    result = recorded.tool("convert", tmp_path, "--to", "csv", "--redact", "-o", tmp_path / "t.csv")
    assert "--to trace" in recorded.one_line(result, 2)
