"""The recorder's opcodes are those of the interpreters that are here."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
OPCODES = ROOT / "collector/recorder/decode/opcodes"


def version_of(file: pathlib.Path) -> str:
    return file.stem.removeprefix("python_").replace("_", ".")


def interpreter(version: str) -> str | None:
    if version == "%d.%d" % sys.version_info[:2]:
        return sys.executable
    candidates = [shutil.which(f"python{version}")]
    candidates += pathlib.Path(os.environ.get("PYENV_ROOT", "/nowhere")).glob(f"versions/*/bin/python{version}")
    for python in filter(None, candidates):
        if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:  # a shim may lead nowhere
            return str(python)
    return None


@pytest.mark.parametrize("file", sorted(OPCODES.glob("*.inc")), ids=version_of)
def test_the_table_is_the_interpreters(file, tmp_path):
    python = interpreter(version_of(file))
    if python is None:
        pytest.skip(f"there is no Python {version_of(file)}")
    subprocess.run([python, ROOT / "scripts/layouts/python_opcodes.py", tmp_path], check=True, capture_output=True)
    assert (tmp_path / file.name).read_text() == file.read_text()


def test_the_running_python_has_a_table():
    assert (OPCODES / ("python_%d_%d.inc" % sys.version_info[:2])).exists()


def test_every_table_is_used():
    source = (OPCODES.parent / "bytecode_opcodes.cpp").read_text()
    assert sorted(re.findall(r"opcodes/(python_\w+\.inc)", source)) == sorted(file.name for file in OPCODES.iterdir())
