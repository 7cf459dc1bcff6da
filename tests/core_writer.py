"""Writes the memory of a process as a core file, as the kernel does by default: what lies unchanged in a mapped file is left out."""

from __future__ import annotations

import pathlib
import re
import struct

PAGE = 4096
PT_LOAD, PT_NOTE, NT_FILE = 1, 4, 0x46494C45


def mappings(pid: int) -> list[tuple[int, int, str, int, str, bool]]:
    """Begin, end, access, offset in bytes, path, and whether the process has private pages there."""
    found = []
    for block in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", pathlib.Path(f"/proc/{pid}/smaps").read_text()):
        line = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)", block)
        if line is not None:
            begin, end, access, offset, path = line.groups()
            own = int(re.search(r"Anonymous: +(\d+)", block).group(1)) > 0
            found.append((int(begin, 16), int(end, 16), access, int(offset, 16), path, own))
    return found


def write_core(pid: int, path: pathlib.Path) -> None:
    """Writes the core file. The process must be at rest. Threads are omitted, because no test needs their registers."""
    maps = [each for each in mappings(pid) if not each[4].startswith("[v")]
    files = [each for each in maps if each[4].startswith("/")]
    table = b"".join(struct.pack("<3Q", begin, end, offset // PAGE) for begin, end, _, offset, _, _ in files)
    content = struct.pack("<2Q", len(files), PAGE) + table + b"".join(each[4].encode() + b"\0" for each in files)
    content += b"\0" * (-len(content) % 4)
    note = struct.pack("<3I8s", 5, len(content), NT_FILE, b"CORE") + content
    headers = 1 + len(maps)
    at = 64 + 56 * headers
    programs = [struct.pack("<2I6Q", PT_NOTE, 4, at, 0, 0, len(note), 0, 4)]
    at = -(-(at + len(note)) // PAGE) * PAGE
    places = []
    for begin, end, access, _, _, own in maps:
        flags = sum(bit for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if letter in access)
        size = end - begin if own else 0
        programs.append(struct.pack("<2I6Q", PT_LOAD, flags, at, begin, 0, size, end - begin, PAGE))
        places.append((at, begin, size))
        at += size
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, headers, 0, 0, 0)
    with path.open("wb") as core, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        core.write(header + b"".join(programs) + note)
        for place, begin, size in places:
            for done in range(0, size, 1 << 20):
                memory.seek(begin + done)
                piece = memory.read(min(1 << 20, size - done))
                if piece.strip(b"\0"):
                    core.seek(place + done)
                    core.write(piece)
        core.truncate(at)
