"""Writes the opcodes of the Python that runs it, for the recorder: one row per opcode that a compiler emits, with its
number, the units of inline cache after it, whether it jumps or uses a local, and its name.

Usage: python3.NN scripts/layouts/python_opcodes.py [FOLDER]

Without FOLDER, the file is written where the recorder includes it. For a new version of Python, add the version to
collector/recorder/decode/bytecode_opcodes.cpp, too. The compiler then names the opcodes that need a role there.
"""

import dis
import opcode
import pathlib
import sys

DESTINATION = pathlib.Path(__file__).parents[2] / "collector/recorder/decode/opcodes"

# No compiler emits these. The interpreter puts some in place of others; the collector undoes that.
NOT_EMITTED = ("INSTRUMENTED_", "ENTER_EXECUTOR", "TRACE_RECORD", "RESERVED")


def caches_of(name: str, number: int) -> int:
    entries = opcode._inline_cache_entries  # by name since 3.13
    return entries[number] if isinstance(entries, list) else entries.get(name, 0)


def kind_of(number: int) -> str:
    if number in dis.hasjrel or number in dis.hasjabs:
        return "kJumps"
    if number in dis.haslocal or number in dis.hasfree:
        return "kUsesLocal"
    return "kPlain"


def rows() -> list[str]:
    emitted = sorted(
        (number, name) for name, number in opcode.opmap.items() if number < 256 and not name.startswith(NOT_EMITTED)
    )
    return [f'{{{number}, {caches_of(name, number)}, {kind_of(number)}, "{name}"}},' for number, name in emitted]


def main() -> None:
    version = "%d_%d" % sys.version_info[:2]
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DESTINATION
    path = folder / f"python_{version}.inc"
    path.write_text("// Written by scripts/layouts/python_opcodes.py.\n" + "\n".join(rows()) + "\n")
    print(path)


if __name__ == "__main__":
    main()
