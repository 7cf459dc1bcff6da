"""Finds names in Inductor's generated wrappers that no `del` removes, although the storage that they name is dead.

Started by `dc-memtrace lint` with any Python 3.8 or newer; it needs no torch and runs nothing of what it reads. The first
argument is a JSON file, {"operators": [patterns], "files": [paths]}. Standard output gets a list with one object for each
file, in their order: null where the file is no generated wrapper, {"error": text} where Python cannot parse it, else
{"storages": [...]} with the keys of the shape `undeleted_storage` of docs/json.md.

`operators` are those whose result is their first argument, as "namespace::name"; * and ? match.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import re
import sys

# torch's names for sizes (s77), unbacked numbers (u0) and the like in generated code: numbers, never a storage.
SHAPE_SYMBOL = re.compile(r"(s|u|ps|zf|zuf)\d+")


def is_wrapper(text: str) -> bool:
    inductor = "async_compile" in text or "torch._inductor" in text
    return inductor and "def call(" in text and "args.clear()" in text


class Operator:
    """A call of an operator: torch.ops.mylib.wait.default(buf1, 0, 3), aten.view.default(buf1, [4])."""

    def __init__(self, node: ast.AST):
        self.name, self.first, self.numbers = "", "", []
        if not isinstance(node, ast.Call):
            return
        path, callee = [], node.func
        while isinstance(callee, ast.Attribute):
            path.insert(0, callee.attr)
            callee = callee.value
        path.insert(0, callee.id if isinstance(callee, ast.Name) else "")
        if path[:2] == ["torch", "ops"]:
            path = path[2:]
        elif path[0] != "aten":
            return
        if len(path) < 2:
            return
        self.name = f"{path[0]}::{path[1]}"
        if node.args and isinstance(node.args[0], ast.Name):
            self.first = node.args[0].id
        self.numbers = [a.value for a in node.args if isinstance(a, ast.Constant) and type(a.value) is int]


class Value:
    """The value of names: a storage, or the tuple that an operator returned, which keeps its elements."""

    def __init__(self, line: int, statement: str, operator: Operator, parent: Value | None = None):
        self.line, self.statement, self.operator, self.parent = line, statement, operator, parent
        self.elements: dict[int, Value] = {}

    def element(self, index: int) -> Value:
        if index not in self.elements:
            self.elements[index] = Value(self.line, self.statement, self.operator, self)
        return self.elements[index]

    def keepers(self) -> list[Value]:
        return [self] if self.parent is None else [self, *self.parent.keepers()]


class Name:
    def __init__(self, name: str, line: int, statement: str, aliases: str, value: Value):
        self.name, self.line, self.statement, self.aliases, self.value = name, line, statement, aliases, value
        self.last_use, self.deleted, self.returned = line, False, False


class Function:
    """The storages of one function, from its first statement to its return."""

    def __init__(self, name: str, lines: list[bytes], patterns: list[str]):
        self.name, self.lines, self.patterns = name, lines, patterns
        self.names: list[Name] = []
        self.bound: dict[str, Name] = {}
        self.values: list[Value] = []
        self.operators: list[tuple[int, Operator]] = []
        self.calls: list[int] = []
        self.return_line = 0

    def text(self, node: ast.stmt) -> str:
        """The statement in one line, without comments."""
        if node.lineno == node.end_lineno:
            return self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode(errors="replace")
        return ast.unparse(node) if hasattr(ast, "unparse") else self.lines[node.lineno - 1].decode(errors="replace")

    def read(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            if isinstance(node, ast.Delete):
                for part in (part for target in node.targets for part in ast.walk(target)):
                    self.unbind(getattr(part, "id", ""))
            elif isinstance(node, (ast.Assign, ast.Expr, ast.Return)):
                self.read_simple(node)
            else:  # the bodies of a with, an if, a loop, in the order of the text
                for field in ("body", "orelse", "finalbody"):
                    self.read(getattr(node, field, []))

    def read_simple(self, node: ast.Assign | ast.Expr | ast.Return) -> None:
        returns = isinstance(node, ast.Return)
        if returns:
            self.return_line = node.lineno
        if node.value is None:
            return
        for part in ast.walk(node.value):
            name = self.bound.get(part.id) if isinstance(part, ast.Name) else None
            if name is not None:
                name.last_use = node.lineno
                name.returned = name.returned or returns
        operator = Operator(node.value)
        if operator.name:
            self.operators.append((node.lineno, operator))
        if not returns and works(node.value):
            self.calls.append(node.lineno)
        if isinstance(node, ast.Assign):
            self.assign(node, operator)

    def assign(self, node: ast.Assign, operator: Operator) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            source, index = self.source(node.value, operator)
            known = self.bound.get(source)
            if SHAPE_SYMBOL.fullmatch(target.id):
                self.unbind(target.id)
            elif known is None:
                self.bind(target.id, node, "", self.new_value(node, operator))
            else:
                self.bind(target.id, node, source, known.value if index is None else known.value.element(index))
        elif isinstance(target, ast.Tuple):
            for one in target.elts:
                if isinstance(one, ast.Name):
                    self.bind(one.id, node, "", self.new_value(node, operator))

    def source(self, value: ast.expr, operator: Operator) -> tuple[str, int | None]:
        """The name whose storage the expression has, and the index of the element; "": a new storage."""
        if isinstance(value, ast.Name):
            return value.id, None
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            index = getattr(value.slice, "value", value.slice)  # before Python 3.9 an Index around it
            index = getattr(index, "value", index)
            return value.value.id, index if type(index) is int else None
        if called(value) == "reinterpret_tensor" and value.args and isinstance(value.args[0], ast.Name):
            return value.args[0].id, None
        if operator.name and any(fnmatch.fnmatchcase(operator.name, pattern) for pattern in self.patterns):
            return operator.first, None
        return "", None

    def new_value(self, node: ast.Assign, operator: Operator) -> Value:
        self.values.append(Value(node.lineno, self.text(node), operator))
        return self.values[-1]

    def bind(self, name: str, node: ast.Assign, aliases: str, value: Value) -> None:
        self.unbind(name)  # its previous value has one name less
        self.bound[name] = Name(name, node.lineno, self.text(node), aliases, value)
        self.names.append(self.bound[name])

    def unbind(self, name: str) -> None:
        if name in self.bound:
            self.bound.pop(name).deleted = True

    def undeleted(self) -> list[dict]:
        """Storages with several names, of which at least one is neither deleted nor returned, although calls follow
        the last use. Empty for a function without a return."""
        by_value: dict[int, list[Name]] = {}
        for name in self.names:
            by_value.setdefault(id(name.value), []).append(name)
        found = []
        for value in self.storages() if self.return_line else []:
            names = [name for keeper in value.keepers() for name in by_value.get(id(keeper), [])]
            kept = sorted((name for name in names if not name.deleted), key=lambda name: name.line)
            last_use = max((name.last_use for name in names), default=0)
            calls_after = sum(line > last_use for line in self.calls)
            if len(names) > 1 and kept and calls_after and not any(name.returned for name in names):
                found.append(self.described(value, names, kept, last_use, calls_after))
        return found

    def storages(self) -> list[Value]:
        """Values without elements. A tuple with known elements does not count itself."""
        leaves, waiting = [], list(reversed(self.values))
        while waiting:
            value = waiting.pop()
            waiting += [value.elements[index] for index in sorted(value.elements, reverse=True)]
            if not value.elements:
                leaves.append(value)
        return leaves

    def described(self, value: Value, names: list[Name], kept: list[Name], last_use: int, calls_after: int) -> dict:
        numbers = value.operator.numbers[:2]
        released = (
            line
            for line, operator in self.operators
            if line > value.line and "release" in operator.name and len(numbers) == 2
            and operator.numbers[:2] == numbers
        )
        return {
            "function": self.name,
            "line": value.line,
            "statement": value.statement,
            "operator": value.operator.name or None,
            "names": [
                {
                    "name": name.name,
                    "line": name.line,
                    "statement": name.statement,
                    "aliases": name.aliases or None,
                    "missing_delete_after": name.last_use,
                }
                for name in kept
            ],
            "deleted_names": [name.name for name in sorted(names, key=lambda name: name.line) if name.deleted],
            "last_use_line": last_use,
            "release_line": next(released, None),
            "return_line": self.return_line,
            "calls_after": calls_after,
        }


def called(value: ast.expr) -> str:
    """The name of a function that is called by its bare name, else ""."""
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""


def works(value: ast.expr) -> bool:
    """True if a statement with this value calls something that may allocate."""
    if called(value) == "reinterpret_tensor" or called(value).startswith("assert_"):
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "clear":
        return False
    return any(isinstance(part, ast.Call) for part in ast.walk(value))


def wrappers(tree: ast.Module):
    """The functions that Inductor calls, with their qualified names."""
    for node in tree.body:
        inner = [(f"{node.name}.", one) for one in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        for prefix, one in inner:
            if isinstance(one, ast.FunctionDef) and (one.name == "call" or one.name.startswith("partition_")):
                if one.args.args and one.args.args[-1].arg == "args":
                    yield prefix + one.name, one


def undeleted(tree: ast.Module, lines: list[bytes], patterns: list[str]) -> list[dict]:
    storages = []
    for name, node in wrappers(tree):
        function = Function(name, lines, patterns)
        function.read(node.body)
        storages += function.undeleted()
    return storages


def lint(path: str, patterns: list[str]) -> dict | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
        if not is_wrapper(data.decode(errors="replace")):
            return None
        return {"storages": undeleted(ast.parse(data), data.split(b"\n"), patterns)}
    except SyntaxError as error:
        return {"error": f"line {error.lineno}: {error.msg}"}
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return {"error": str(error) or type(error).__name__}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as file:
        request = json.load(file)
    json.dump([lint(path, request["operators"]) for path in request["files"]], sys.stdout)


if __name__ == "__main__":
    main()
