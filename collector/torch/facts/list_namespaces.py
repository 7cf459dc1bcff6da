"""Writes torch's own operator namespaces, as lines of a C++ array, to the named file.

Operators of other namespaces belong to the program. The namespaces are those of the operators that exist after torch is
imported, and those that torch's Python files define when they are imported.
"""

from __future__ import annotations

import ast
import pathlib
import sys

import torch

DEFINERS = {"Library", "custom_op", "triton_op", "define", "register_torchbind_op"}
DEFINING_WORDS = ("Library(", "custom_op(", "triton_op(", "define(")


def registered() -> set[str]:
    names = torch._C._dispatch_get_all_op_names()
    schemas = [schema.name for schema in torch._C._jit_get_all_schemas()]
    return {name.split("::")[0] for name in (*names, *schemas) if "::" in name}


def first_text(call: ast.Call) -> str:
    """The first argument, if it is text, up to the first placeholder."""
    argument = call.args[0] if call.args else None
    if isinstance(argument, ast.JoinedStr) and argument.values:
        argument = argument.values[0]
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""


def defined_in(file: pathlib.Path) -> set[str]:
    text = file.read_text(encoding="utf-8", errors="replace")
    if not any(word in text for word in DEFINING_WORDS):
        return set()
    found = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in DEFINERS:
            continue
        namespace, separator, _ = first_text(node).partition("::")
        if namespace.isidentifier() and (separator or name == "Library"):
            found.add(namespace)
    return found


def own_namespaces() -> set[str]:
    root = pathlib.Path(torch.__file__).parent
    names = registered()
    for file in root.rglob("*.py"):
        if "testing" not in file.relative_to(root).parts:
            names |= defined_in(file)
    return names


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text("".join(f'"{name}",\n' for name in sorted(own_namespaces())))
