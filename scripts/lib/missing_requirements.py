"""Prints those requirements of a file of `name==version` lines that the Python running this does not have.

With --exact a different version counts as missing; a local version such as 2.11.0+cpu counts as 2.11.0.
"""

import argparse
import importlib.metadata
import pathlib


def installed_version(name: str) -> "str | None":
    try:
        return importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--exact", action="store_true")
    arguments = parser.parse_args()
    for line in arguments.file.read_text().splitlines():
        requirement = line.split("#")[0].strip()
        if not requirement:
            continue
        name, version = requirement.split("==")
        installed = installed_version(name)
        if installed is None or (arguments.exact and installed != version):
            print(requirement)


if __name__ == "__main__":
    main()
