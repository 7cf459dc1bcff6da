"""One type for a fact: a type's name stands in one of our namespaces, but for the namesakes below.

Two types of one name usually are one fact that some function copies field by field from one into the other. A type that
is neither needs another name, or a line here that says why both are needed.
"""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]

FOLDERS = ("analyzer", "cli", "collector", "convert", "executor", "gui", "render", "trace")

_ROW = "a row has ids; the model's has texts and stacks, which are made when it is read"
_PROCESSES = "one process's state, and what a trace has of it"
_LIBRARIES = "parts that share no file: different facts with one name"

NAMESAKES = {
    "Actor": _ROW,
    "Cycle": _ROW + "; a scan's: a cycle of Python objects",
    "Gone": _ROW,
    "Mark": _ROW,
    "SurvivorSite": _ROW,
    "OutOfMemory": _ROW + "; the recorder's: the errors of one process",
    "Collection": _PROCESSES,
    "Container": _PROCESSES,
    "GpuMemory": _PROCESSES,
    "HeldArrays": _PROCESSES,
    "MarkKind": _PROCESSES,
    "Owners": _PROCESSES,
    "Parameter": _PROCESSES,
    "ProcessMemory": _PROCESSES,
    "RunFacts": _PROCESSES,
    "Segment": _PROCESSES,
    "StreamCall": _PROCESSES,
    "Span": "a row to be written has numbers; a loaded one has typed ids",
    "Column": _LIBRARIES,
    "Cell": "a column of a declared table; a part of a picture",
    "Lifetime": "the columns of a lifetime; a bar of a picture",
    "Scope": "the column of an operator's scope; what a scan covers",
    "Selection": "the columns that a statement selects; what a person has selected",
    "Table": "a table of the trace; a table of text",
    "Command": _LIBRARIES,
    "EventLog": _LIBRARIES,
    "Names": _LIBRARIES,
    "OperatorRow": _LIBRARIES,
    "Place": _LIBRARIES,
    "Point": _LIBRARIES,
    "Range": _LIBRARIES,
    "Recording": _LIBRARIES,
    "Session": _LIBRARIES,
    "StepRange": _LIBRARIES,
    "Totals": _LIBRARIES,
    "Verdict": "of a release; of a gate",
    "WhatIf": "what the analyzer computes; the viewer's thread that asks for it",
}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
TOKEN = re.compile(r"namespace\s*([\w:]*)\s*\{|\{|\}|\b(?:struct|class|enum\s+class|enum)\s+(?:\[\[\w+\]\]\s*)?(\w+)"
                   r"(?:\s+final)?\s*(?::[^;{(]*)?(?=\{)")


def types_in(text: str) -> set[tuple[str, str]]:
    """Namespace and name of each type that a header defines, but for types inside of types."""
    found = set()
    scopes: list[str | None] = []  # a namespace's name, None for other braces
    for token in TOKEN.finditer(COMMENT.sub("", text)):
        if token[0].startswith("namespace"):
            scopes.append(token[1])
        elif token[0] == "{":
            scopes.append(None)
        elif token[0] == "}":
            scopes = scopes[:-1]
        elif None not in scopes:
            found.add(("::".join(filter(None, scopes)), token[2]))
    return found


def namesakes_under(root: pathlib.Path) -> dict[str, set[str]]:
    """Each name that several namespaces have, with these namespaces."""
    names: dict[str, set[str]] = {}
    for folder in FOLDERS:
        for header in (root / folder).rglob("*.h"):
            for namespace, name in types_in(header.read_text(encoding="utf-8", errors="replace")):
                names.setdefault(name, set()).add(namespace)
    return {name: namespaces for name, namespaces in names.items() if len(namespaces) > 1}


def test_a_types_name_stands_in_one_namespace():
    found = namesakes_under(ROOT)
    assert len(found) > 0
    assert {name: sorted(found[name]) for name in found if name not in NAMESAKES} == {}


def test_a_planted_namesake_is_found(tmp_path):
    for folder, namespace in (("analyzer", "dcmt::analyzer"), ("cli", "dcmt::cli")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.h").write_text(f"namespace {namespace} {{\nstruct Twin {{ struct Inner {{}}; }}; // struct No {{}};\n"
                                               f"class Declared;\nenum class Kind {{ kA }};\n}}\n")
    assert namesakes_under(tmp_path) == {"Twin": {"dcmt::analyzer", "dcmt::cli"}, "Kind": {"dcmt::analyzer", "dcmt::cli"}}
