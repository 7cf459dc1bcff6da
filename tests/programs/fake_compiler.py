"""A C++ compiler for tests of `doctor --prepare`: it answers at once.

Constants that are asked for as assembler text are 1; objects are empty; what is linked is a copy of the provider that
FAKE_PROVIDER names. Says into the folder FAKE_LOG that it linked a provider. With FAKE_WITHOUT_LTO it links nothing with -flto,
as a g++ that came without lto-wrapper. Standard library only.
"""

import os
import pathlib
import re
import shutil
import sys

words = sys.argv[1:]
out = words[words.index("-o") + 1]
if "-S" in words:
    text = pathlib.Path(next(word for word in words if word.endswith(".cpp"))).read_text()
    names = re.findall(r"^(?:CONSTANT|FUNCTION)\((\w+)", text, re.MULTILINE)
    labels = [f"dcmt_layout_{name}" for name in names] or sorted(set(re.findall(r"\bdcmt_\d+\b", text)))
    assembly = "".join(f"{label}:\n\t.quad 1\n" for label in labels)
    if out == "-":
        print(assembly)
    else:
        pathlib.Path(out).write_text(assembly)
elif "-shared" in words:
    if "FAKE_WITHOUT_LTO" in os.environ and any(word.startswith("-flto") for word in words):
        sys.exit("ld: error: could not run lto-wrapper")
    shutil.copy(os.environ["FAKE_PROVIDER"], out)
    if pathlib.Path(out).name == "libdcmt_torch.so":
        with open(pathlib.Path(os.environ["FAKE_LOG"]) / "linked", "a") as log:
            log.write("once\n")
else:
    pathlib.Path(out).touch()
