"""Writes bytecode_3.NN.json for the Python that runs it: code objects and what reaching definitions must say of them.

The answers are hand-annotated in the sources below and checked, before they are written, against an independent
computation with `dis` (all pairs of instruction and last definition, walked forward). Annotations in comments:
  #@ name              this line is called `name`
  #? var = a b; del d; ret r     at the probe() call of this line, `var` was assigned at lines a and b, the nearest
                       delete is at d and the nearest return at r ('-' for none)
The implicit end of `except ... as error` first stores None, so it is no delete of the error.
"""

import dis
import json
import pathlib
import re
import sys

SOURCES = r'''
def straight():
    buf = make()  #@ a
    alias = buf  #@ b
    probe(alias)  #? buf = a; del d; ret r #? alias = b; del -; ret r
    del buf  #@ d
    return alias  #@ r
---
def argument(x, flag):
    probe(x)  #? x = -; del -; ret r
    if flag:
        x = make()  #@ a
    probe(x)  #? x = a; del -; ret r
    return x  #@ r
---
def two_branches(flag):
    if flag:
        buf = make()  #@ a
    else:
        buf = other()  #@ b
    probe(buf)  #? buf = a b; del -; ret r
    return None  #@ r
---
def loop(items):
    buf = None  #@ a
    for item in items:  #@ i
        probe(item)  #? buf = a c; del -; ret r #? item = i; del -; ret r
        buf = item  #@ c
        probe(buf)  #? buf = c; del -; ret r
    probe(buf)  #? buf = a c; del -; ret r #? item = i; del -; ret r
    return buf  #@ r
---
def stored_later_in_the_loop(items):
    buf = make()  #@ a
    while items():
        del buf  #@ d
        probe(0)  #? buf = -; del -; ret r
        buf = other()  #@ b
        probe(1)  #? buf = b; del d; ret r
    buf = None  #@ c
    probe(2)  #? buf = c; del -; ret r
    return None  #@ r
---
def delete_in_one_branch(flag):
    buf = make()  #@ a
    if flag:
        probe(0)  #? buf = a; del d; ret r
        del buf  #@ d
    else:
        probe(1)  #? buf = a; del -; ret r
    probe(2)  #? buf = a; del -; ret r
    return 1  #@ r
---
def try_except(f):
    buf = make()  #@ a
    try:
        buf = other()  #@ b
        f()
        buf = third()  #@ c
    except ValueError as error:  #@ e
        probe(error)  #? buf = a b; del -; ret r #? error = e; del -; ret r
    probe(buf)  #? buf = a b c; del -; ret r
    return buf  #@ r
---
def try_finally(f):
    buf = make()  #@ a
    try:
        probe(0)  #? buf = a; del d; ret r
        buf = f()  #@ b
        probe(1)  #? buf = b; del d; ret r
    finally:
        del buf  #@ d
    return 1  #@ r
---
def with_block(manager):
    with manager as handle:  #@ h
        buf = make()  #@ a
        probe(buf)  #? buf = a; del -; ret r #? handle = h; del -; ret r
    probe(1)  #? buf = a; del -; ret r
    return None  #@ r
---
def reassigned_before_delete():
    buf = make()  #@ a
    probe(buf)  #? buf = a; del -; ret r
    buf = other()  #@ b
    probe(buf)  #? buf = b; del d; ret r
    del buf  #@ d
    return None  #@ r
---
def early_return(flag):
    buf = make()  #@ a
    if flag:
        probe(buf)  #? buf = a; del -; ret s
        return buf  #@ s
    probe(buf)  #? buf = a; del d; ret r
    del buf  #@ d
    return None  #@ r
---
def cell_variable():
    buf = make()  #@ a
    def inner():
        return buf
    probe(inner)  #? buf = a; del d; ret r
    del buf  #@ d
    return 1  #@ r
---
def comprehension(items, x):
    x = make()  #@ a
    probe(x)  #? x = a; del d; ret r
    found = [x for x in items if x]  #@ f
    probe(x)  #? x = a; del d; ret r #? found = f; del -; ret r
    del x  #@ d
    return found  #@ r
---
def walrus_and_unpack(pair):
    if (buf := make()) is not None:  #@ a
        first, buf = pair  #@ b
        probe(first)  #? buf = b; del -; ret r #? first = b; del -; ret r
    probe(buf)  #? buf = a b; del -; ret r
    return buf  #@ r
---
def generator(items):
    for item in items:  #@ i
        buf = item + 1  #@ a
        yield buf
        probe(buf)  #? buf = a; del d; ret - #? item = i; del -; ret -
        del buf  #@ d
---
async def coroutine(source):
    buf = await source()  #@ a
    async with source as lock:  #@ l
        probe(buf)  #? buf = a; del -; ret r #? lock = l; del -; ret r
        buf = await lock()  #@ b
    probe(buf)  #? buf = a b; del -; ret r
    return buf  #@ r
---
def nested_handlers(f):
    buf = make()  #@ a
    try:
        try:
            buf = f(buf)  #@ b
            f()
        except KeyError:
            buf = None  #@ c
            f()
        finally:
            probe(buf)  #? buf = a b c; del -; ret r
    except Exception:
        buf = 2  #@ g
    probe(buf)  #? buf = b c g; del -; ret r
    return buf  #@ r
---
def match_statement(value):
    match value:
        case [buf, *rest]:  #@ a
            probe(rest)  #? buf = a; del -; ret r
        case {"k": buf}:  #@ b
            probe(buf)  #? buf = b; del -; ret r
        case _:
            buf = 0  #@ c
    probe(buf)  #? buf = a b c; del -; ret r
    return buf  #@ r
---
@@MANY@@
'''


def many_locals():
    """More than 256 locals, a jump over more than 256 code units: EXTENDED_ARG everywhere."""
    lines = ["def many(flag):", "    late = make()  #@ z"]
    lines.append("    while flag():")
    lines += [f"        v{i} = make({i})" for i in range(320)]
    lines.append("        v319 = other()  #@ a")
    lines.append("        probe(v319)  #? v319 = a; del d; ret r #? late = z b; del -; ret r")
    lines.append("        late = other()  #@ b")
    lines.append("        del v319  #@ d")
    lines.append("    probe(late)  #? late = z b; del -; ret r")
    lines.append("    return late  #@ r")
    return "\n".join(lines)


NEVER_RAISES = {"NOP", "LOAD_CONST", "POP_TOP", "COPY", "SWAP", "PUSH_NULL", "PUSH_EXC_INFO", "POP_EXCEPT",
                "STORE_FAST", "STORE_DEREF", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"}
NO_NEXT = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_VALUE", "RETURN_CONST",
           "RAISE_VARARGS", "RERAISE"}


class Walk:
    """Every pair (instruction, definition that the variable has there), walked forward from the entry."""

    def __init__(self, code, variable):
        self.instructions = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
        self.variable = variable
        by_offset = {}
        position = 0
        for unit in range(0, len(code.co_code), 2):
            while position < len(self.instructions) and self.instructions[position].offset < unit:
                position += 1
            by_offset[unit] = position
        self.by_offset = by_offset
        self.handlers = {}
        for entry in dis._parse_exception_table(code):
            for number, instruction in enumerate(self.instructions):
                if entry.start <= instruction.offset < entry.end:
                    self.handlers[number] = by_offset[entry.target]

    def touches(self, instruction, *names):
        return instruction.opname in names and instruction.argval == self.variable

    def stores(self, instruction):
        """3.13 joins a store with what follows it on the same line: the argument is then a pair of names."""
        if instruction.opname == "STORE_FAST_STORE_FAST":
            return self.variable in instruction.argval
        if instruction.opname == "STORE_FAST_LOAD_FAST":
            return self.variable == instruction.argval[0]
        return self.touches(instruction, "STORE_FAST", "STORE_DEREF")

    def successors(self, number):
        instruction = self.instructions[number]
        if instruction.opname not in NO_NEXT:
            yield number + 1
        if instruction.opcode in dis.hasjrel:
            yield self.by_offset[instruction.argval]

    def states(self):
        """number -> set of definitions; a definition is an instruction number, 'saved' values travel along."""
        found = {}
        todo = [(0, None, ())]
        seen = set(todo)
        while todo:
            number, value, saved = todo.pop()
            found.setdefault(number, set()).add(value)
            instruction = self.instructions[number]
            after, after_saved = value, saved
            if self.touches(instruction, "LOAD_FAST_AND_CLEAR"):
                after, after_saved = None, saved + ((instruction.positions, value),)
            elif self.stores(instruction):
                if saved and saved[-1][0] == instruction.positions:
                    after, after_saved = saved[-1][1], saved[:-1]
                else:
                    after = number
            elif self.touches(instruction, "DELETE_FAST", "DELETE_DEREF"):
                after = None
            nexts = [(n, after, after_saved) for n in self.successors(number)]
            if number in self.handlers and instruction.opname not in NEVER_RAISES:
                nexts.append((self.handlers[number], value, saved))
            for state in nexts:
                if state not in seen:
                    seen.add(state)
                    todo.append(state)
        return found


def names_in(text, lines):
    return sorted(lines[name] for name in text.split() if name != "-")


def cases(source):
    lines = {}
    for number, line in enumerate(source.splitlines(), 1):
        for name in re.findall(r"#@ (\w+)", line):
            lines[name] = number
    scope = {}
    exec(compile(source, "fixture.py", "exec"), scope)
    code = next(value.__code__ for value in scope.values() if hasattr(value, "__code__"))
    local_names = list(code.co_varnames) + [n for n in code.co_cellvars if n not in code.co_varnames]
    local_names += list(code.co_freevars)
    questions = []
    for number, line in enumerate(source.splitlines(), 1):
        for variable, assigned, deleted, returned in re.findall(r"#\? (\w+) = ([\w -]+); del (\S+); ret (\S+)", line):
            walk = Walk(code, variable)
            states = walk.states()
            calls = [n for n, i in enumerate(walk.instructions)
                     if i.opname == "CALL" and i.positions.lineno == number and n in states]
            # A finally block is compiled twice; the first copy is the one without an exception.
            computed = set()
            for call in calls:
                computed |= {walk.instructions[d].positions.lineno for d in states[call] if d is not None}
            expected = names_in(assigned, lines)
            if sorted(computed) != expected:
                raise SystemExit(f"{code.co_name}:{number} {variable}: annotated {expected}, computed {computed}")
            questions.append({
                "variable": variable,
                "local": local_names.index(variable),
                "offsets": [walk.instructions[call].offset for call in calls],
                "assignment_lines": expected,
                "delete_line": lines.get(deleted),
                "return_line": lines.get(returned),
            })
    return {
        "name": code.co_name,
        "python": (sys.version_info[0] << 8) | sys.version_info[1],
        "first_line": code.co_firstlineno,
        "instructions": code.co_code.hex(),
        "line_table": code.co_linetable.hex(),
        "exception_table": code.co_exceptiontable.hex(),
        "local_names": local_names,
        "questions": questions,
    }


def main():
    sources = SOURCES.replace("@@MANY@@", many_locals()).strip("\n").split("\n---\n")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    path = pathlib.Path(__file__).with_name(f"bytecode_{version}.json")
    rows = ",\n".join(json.dumps(cases(source)) for source in sources)
    path.write_text(f"[\n{rows}\n]\n")
    print(path)


if __name__ == "__main__":
    main()
