"""`report --html`: one page that fetches nothing, says what the report says, and shows what a trace says as text."""

from __future__ import annotations

import html.parser
import pathlib
import re
import sqlite3

import recorded
from written_trace import Trace

SCRIPT = "<script>alert(1)</script>"


class Page(html.parser.HTMLParser):
    """Texts and tags of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def trace_with(folder: pathlib.Path, sites: int, name: str = "rank0.dcmt") -> pathlib.Path:
    """Blocks of different sizes, each made at a place of its own, all alive at the peak."""
    folder.mkdir(exist_ok=True)
    trace = Trace(folder / name)
    for site in range(sites):
        frame = {"id": site + 1, "file": trace.string(f"{SCRIPT}{site % 100}.py"), "line": site + 1,
                 "function": trace.string("f" if site else SCRIPT)}
        trace.insert("frame", **frame)
        trace.insert("stack", id=site + 1, parent=None, frame=site + 1)
        trace.lifetime("block", trace.next_seq(), None, address=site + 1, bytes=100_000 + site, stack=site + 1)
    trace.save(command="python train.py", start_real_ns=10**18, torch="2.15.0")
    return folder / name


def page_of(trace: pathlib.Path, page: pathlib.Path) -> Page:
    result = recorded.tool("report", trace, "--html", page)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    return Page(page.read_text())


def check_closed(page: Page) -> None:
    """Nothing is run, nothing is fetched."""
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "a", "form", "image", "use"}, names
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on") and name not in ("src", "href", "xlink:href"), (tag, name)
            assert "url(" not in (value or "") or re.fullmatch(r"url\(#\w+\)", value), value


def test_a_page_says_what_the_report_says(tmp_path: pathlib.Path) -> None:
    trace = trace_with(tmp_path / "run", 30)
    page = page_of(trace, tmp_path / "page.html")
    check_closed(page)
    text = recorded.tool("report", trace).stdout
    assert text.strip() in page.text
    assert page.text.index(text.strip()) < page.text.index("Alive at this peak")  # the answer comes first
    assert "python train.py · 2001-09-09 01:46 UTC · torch 2.15.0" in page.text
    peak = sum(100_000 + site for site in range(30))
    assert f"Peak {peak / 2**20:.1f} MiB" in page.text
    rows = re.findall(r"([\d,]+) B[\d.]+ %1(\S+)", page.text.replace("\n", ""))
    assert rows[0][0] == "100,029"


def test_modules_have_a_table(tmp_path: pathlib.Path) -> None:
    trace = trace_with(tmp_path / "run", 3)
    assert "by module" not in page_of(trace, tmp_path / "without.html").text
    with sqlite3.connect(trace) as database:
        (name,) = database.execute("INSERT INTO string SELECT max(id) + 1, ? FROM string RETURNING id", (f"model.{SCRIPT}",)).fetchone()
        database.execute("INSERT INTO module VALUES(7, ?)", (name,))
        database.execute("UPDATE block SET module = 7 WHERE bytes = 100000")
    page = page_of(trace, tmp_path / "page.html")
    check_closed(page)
    (table,) = re.findall(r"Alive at this peak, by module(.*)Alive at this peak, by the stack", page.text, re.DOTALL)
    (row,) = [line for line in table.splitlines() if f"model.{SCRIPT}" in line]
    assert row.split()[:3] == ["97.7", "KiB", "33.3"]


def test_tags_in_names_are_text(tmp_path: pathlib.Path) -> None:
    trace = trace_with(tmp_path / f"run {SCRIPT.replace('/', '')}", 5, "<b>.dcmt")
    page = page_of(trace, tmp_path / "page.html")
    check_closed(page)
    assert "b" not in {tag for tag, _ in page.tags}
    assert SCRIPT.split("/")[0] in page.text


def test_a_hundred_thousand_sites_stay_small(tmp_path: pathlib.Path) -> None:
    trace = trace_with(tmp_path / "run", 100_000)
    page = page_of(trace, tmp_path / "page.html")
    check_closed(page)
    assert (tmp_path / "page.html").stat().st_size < 10_000_000
    assert "more sites with" in page.text


def test_a_page_that_is_there_stays(tmp_path: pathlib.Path) -> None:
    trace = trace_with(tmp_path / "run", 2)
    target = tmp_path / "page.html"
    target.write_text("mine")
    result = recorded.tool("report", trace, "--html", target)
    assert result.returncode == 3 and len(result.stderr.splitlines()) == 1
    assert target.read_text() == "mine"
    assert recorded.tool("report", trace, "--html", target, "--force").returncode == 0
    assert target.read_text() != "mine"
    assert recorded.tool("report", trace, "--html", target, "--json").returncode == 2
    assert recorded.tool("report", trace, "--html", tmp_path / "nowhere" / "x.html").returncode == 3
