"""Writes the constants of layout_probe.cpp, as the compiler has them for one build of torch, as a C++ header.

    python provider_layout.py HEADER COMPILER INCLUDE...

The probe is translated to assembler text: nothing is linked, nothing of torch runs.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

PROBE = pathlib.Path(__file__).with_name("layout_probe.cpp")
HEADER = """// Written by collector/torch/facts/provider_layout.py from the headers of the torch in use.
#pragma once

#include <cstddef>

namespace dcmt::torch_provider::layout {{

{}
}}  // namespace dcmt::torch_provider::layout
"""


def constants(compiler: str, include: list[str]) -> str:
    """The header's text. Raises CalledProcessError if the probe does not compile: this torch is unknown."""
    folders = [word for folder in include for word in ("-isystem", folder)]
    command = [compiler, "-std=c++20", "-w", "-O0", "-fno-lto", "-fno-access-control", "-DNDEBUG", *folders, "-S", "-o", "-", str(PROBE)]
    assembly = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    values = dict(re.findall(r"^dcmt_layout_(\w+):[ \t]*(?:(?:#|//).*)?\n[ \t]*\.(?:quad|xword)[ \t]+(\d+)", assembly, re.MULTILINE))
    lines = []
    for kind, name in re.findall(r"^(CONSTANT|FUNCTION)\((\w+)", PROBE.read_text(), re.MULTILINE):
        value = int(values[name])
        if kind == "FUNCTION":  # the distance in bytes, on x86-64 one more; two words stand before the first (Itanium C++ ABI)
            value = value // 8 + 2
        lines.append(f"inline constexpr std::size_t {name} = {value};")
    return HEADER.format("\n".join(lines) + "\n")


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(constants(sys.argv[2], sys.argv[3:]))
