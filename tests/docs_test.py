"""README and docs: links are valid, commands are known to the tool, lines have the right width."""

from __future__ import annotations

import functools
import itertools
import json
import pathlib
import re
import shlex
import urllib.parse

import pytest

from recorded import ROOT, tool

FOLDERS = ("build", ".venv", ".git")
PAGES = sorted(
    page for page in ROOT.rglob("*.md") if not any(part in FOLDERS for part in page.relative_to(ROOT).parts)
)
# Pages for users, whose commands can be typed as they are. Decisions are of their time.
FOR_USERS = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs", ROOT / "docs" / "samples")]
# Pages whose paragraphs keep to the width of the code.
NARROW = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in (
    "README", "tutorial", "howto", "glossary", "architecture", "attach", "operators", "pytest", "verdicts", "benchmarks")),
    ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *(ROOT / "docs" / "decisions").glob("*.md")]
WIDTH = 120

LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCE = re.compile(r"^\s*```")
INLINE = re.compile(r"`(dc-memtrace [^`]*)`")
OPTION = re.compile(r"^--?[a-z][a-z-]*")


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


def lines_of(page: pathlib.Path):
    """All lines with their numbers, and whether they are in a block of code."""
    in_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line) is not None
        yield number, line, in_code or fence
        in_code = in_code != fence


def headings_of(page: pathlib.Path) -> set[str]:
    """Headings in the form of links: lower case, words joined by dashes, without punctuation."""
    texts = (line.lstrip("#").strip().lower() for _, line, code in lines_of(page) if line.startswith("#") and not code)
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    broken = []
    for number, line, in_code in lines_of(page):
        for target in [] if in_code else LINK.findall(line):
            path, _, heading = target.partition("#")
            if urllib.parse.urlparse(target).scheme:
                continue
            to = page if path == "" else page.parent / path
            if not to.exists() or (heading and heading not in headings_of(to)):
                broken.append(f"{name_of(page)}:{number}: {target}")
    assert not broken


def commands_of(page: pathlib.Path):
    """The commands that the page tells users to type, with their line numbers."""
    for number, line, in_code in lines_of(page):
        if not in_code:
            yield from ((number, command) for command in INLINE.findall(line))
        elif line.strip().startswith(("dc-memtrace ", "$ dc-memtrace ", "next: dc-memtrace ")):
            yield number, line.strip().removeprefix("$ ").removeprefix("next: ")


@functools.cache
def help_of(*words: str) -> str:
    """The help of a command; empty if there is no such command."""
    result = tool(*words, "--help")
    return result.stdout if result.returncode == 0 else ""


def what_is_wrong(command: str) -> str:
    """The error in a command's words; empty if the tool accepts them."""
    words = shlex.split(command, comments=True)[1:]
    if not words or words[0] in ("--help", "--version", "COMMAND"):
        return ""
    name = [words.pop(0)]
    if name == ["show"] and words and not words[0].startswith("-"):
        name.append(words.pop(0))
    text = help_of(*name)
    if not text:
        return f"no command {' '.join(name)}"
    if name == ["run"]:  # words after the first one that is no option belong to another program
        own = []
        for word in words:
            if word == "--" or word.endswith((".py", "torchrun", "python")):
                break
            own.append(word)
        words = own
    for word in words[: words.index("--")] if "--" in words else words:
        option = OPTION.match(word)
        if option and not re.search(rf"(^|[\s,!]){re.escape(option.group())}\b", text):
            return f"no option {option.group()}"
    return ""


@pytest.mark.parametrize("page", FOR_USERS, ids=name_of)
def test_commands_are_ones_that_the_tool_has(page):
    wrong = [
        f"{name_of(page)}:{number}: {command}: {why}"
        for number, command in commands_of(page)
        if (why := what_is_wrong(command))
    ]
    assert not wrong


def test_a_wrong_command_is_noticed():
    assert what_is_wrong("dc-memtrace frobnicate out/") == "no command frobnicate"
    assert what_is_wrong("dc-memtrace report out/ --colour") == "no option --colour"
    assert what_is_wrong("dc-memtrace run -o out -- python train.py --colour") == ""
    assert what_is_wrong("dc-memtrace run train.py --colour") == ""


@pytest.mark.parametrize("page", NARROW, ids=name_of)
def test_lines_fit(page):
    long = [
        f"{name_of(page)}:{number}: {len(line)} characters"
        for number, line, in_code in lines_of(page)
        if len(line) > WIDTH and not in_code and not line.startswith("|")
    ]
    assert not long


def names_in_table(page: pathlib.Path, heading: str, column: int) -> set[str]:
    """The words in backticks in one column of the table whose first line begins with `heading`."""
    lines = page.read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(heading)) + 2
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[begin:])
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[column])}


def test_contributing_has_each_preset():
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    shown = {preset["name"] for preset in presets if not preset.get("hidden")}
    assert names_in_table(ROOT / "CONTRIBUTING.md", "| preset |", 1) == shown


def test_contributing_has_each_package_that_is_installed():
    script = (ROOT / "scripts" / "lib" / "setup.sh").read_text()
    lists = re.findall(r"^dcmt_(?:more_)?packages=\((.*?)\)", script, re.DOTALL | re.MULTILINE)
    packages = set(" ".join(lists).split())
    assert names_in_table(ROOT / "CONTRIBUTING.md", "| library or program |", 3) == packages
