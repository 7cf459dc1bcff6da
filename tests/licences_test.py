"""Licences: each file and library that an installation, the Debian package or a wheel contains is in the list."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
from recorded import BUILD, ROOT

TABLE = ROOT / "licences" / "components.toml"


def listed(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "scripts" / "licences", *map(str, words)], capture_output=True, text=True)


def install(folder: pathlib.Path, *words: str) -> pathlib.Path:
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder, *words], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> pathlib.Path:
    return install(tmp_path_factory.mktemp("installed"))


def test_all_that_an_installation_contains_is_listed(tree):
    result = listed("--build", BUILD, tree)
    assert (result.returncode, result.stderr) == (0, "")
    for name in ("dc-memtrace ", "fmt ", "SQLite ", "toml++ ", "CLI11 ", "nlohmann-json ", "CPython's headers "):
        assert any(line.startswith(name) for line in result.stdout.splitlines()), name
    texts = {path.name for path in (tree / "share" / "doc" / "dc-memtrace").iterdir()}
    rows = tomllib.loads(TABLE.read_text())["component"]
    assert texts >= {"LICENSE", "NOTICE", *(row["text"] for row in rows if "text" in row)}


def test_all_that_the_debian_package_contains_is_listed(tmp_path):
    if not (BUILD / "bin" / "dc-memtrace-view").exists():
        pytest.skip("this build has no viewer, and so no package")
    package = install(tmp_path / "usr", "--component", "reader")
    result = listed(package)
    assert (result.returncode, result.stderr) == (0, "")
    assert (package / "share" / "doc" / "dc-memtrace" / "copyright").exists()


def test_a_library_that_is_carried_without_a_row_is_named(tree, tmp_path):
    copy = tmp_path / "tree"
    shutil.copytree(tree, copy)
    (copy / "lib" / "dcmt" / "libelf.so.1").write_bytes(b"\x7fELF")
    program = copy / "bin" / "dc-memtrace"
    program.write_bytes(re.sub(rb"\0N4dcmt(?=\d)", rb"\0N4else", program.read_bytes(), count=1))
    result = listed(copy)
    assert result.returncode == 1
    assert "lib/dcmt/libelf.so.1: this file has no row" in result.stderr
    assert "bin/dc-memtrace: classes of else have no row" in result.stderr
    assert len(result.stderr.splitlines()) == 2


def test_what_a_wheel_bundles_without_a_row_is_named(tree, tmp_path):
    wheel = tmp_path / "dc_memtrace-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tree / "bin" / "dc-memtrace", "dc_memtrace-0.1.0.data/data/bin/dc-memtrace")
        archive.writestr("dc_memtrace/__init__.py", "")
        archive.writestr("dc_memtrace.libs/libz-1a2b.so.1", b"\x7fELF")
    result = listed(wheel)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "dc_memtrace.libs/libz-1a2b.so.1: this file has no row" in result.stderr
