"""What recording adds to the instructions of a CPU-bound step, counted by callgrind.

A count is the same on a busy machine as on an idle one, so two commits can be compared. It says nothing of caches, of
waiting, or of the recorder, which is another process.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

STEP = pathlib.Path(__file__).resolve().with_name("instructions_step.py")
TOOL = pathlib.Path(os.environ["DCMT_BUILD_DIR"]) / "bin" / "dc-memtrace"
WAYS = ("plain", "standby", "oom", "lifetimes", "full", "operators", "profiler")
GROUPS = ("ours", "torch", "python", "others")


def group_of(library: str) -> str:
    if library.startswith("libdcmt_"):
        return "ours"
    if library.startswith(("libtorch", "libc10")):
        return "torch"
    if library.startswith(("python", "libpython")):
        return "python"
    return "others"


def by_group(profile: pathlib.Path) -> collections.Counter:
    """Instructions of each group of libraries, without what they call, from a file in callgrind's format."""
    names: dict[str, str] = {}
    found: collections.Counter = collections.Counter()
    group = "others"
    of_a_call = False
    for line in profile.read_text().splitlines():
        if match := re.match(r"c?ob=\((\d+)\)(?: (.*))?", line):
            if match[2]:
                names[match[1]] = match[2].rsplit("/", 1)[-1]
            if line.startswith("ob="):
                group = group_of(names[match[1]])
        elif line.startswith("calls="):
            of_a_call = True
        elif re.match(r"[0-9+*-]", line):
            if not of_a_call:
                found[group] += int(line.split()[1])
            of_a_call = False
    return found


def measured(way: str, arguments: argparse.Namespace, folder: pathlib.Path) -> tuple[collections.Counter, str]:
    profile = folder / f"{way}.callgrind"
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={profile}"]
    command += [sys.executable, STEP, "--steps", str(arguments.steps), "--layers", str(arguments.layers)]
    if way == "profiler":
        command += ["--profiler"]
    elif way == "standby":  # nobody attaches
        command = [TOOL, "run", "--standby", "--", *command]
    elif way != "plain":
        detail = ["--oom-only"] if way == "oom" else ["--detail", way]
        command = [TOOL, "run", "-q", "-o", folder / way, *detail, "--", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {way}: {done.stderr[-2000:]}")
    found = by_group(profile)
    return collections.Counter({name: count / arguments.steps for name, count in found.items()}), done.stdout.split()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2, help="steps that are counted (2)")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--ways", nargs="+", choices=WAYS[1:], default=WAYS[1:])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain, loss = measured("plain", arguments, folder)
        total = plain.total()
        print(f"| recording | instructions a step | over plain | {' | '.join(GROUPS)} |")
        print("| --- | --- | --- |" + " --- |" * len(GROUPS))
        print(f"| plain | {total:,.0f} | | {' | '.join(f'{plain[group] / total:.1%}' for group in GROUPS)} |", flush=True)
        for way in arguments.ways:
            found, its_loss = measured(way, arguments, folder)
            if its_loss != loss:
                raise SystemExit(f"error: {way} has changed the loss: {its_loss}, {loss} without it")
            added = [f"{(found[group] - plain[group]) / total:+.2%}" for group in GROUPS]
            over = found.total() / total - 1
            print(f"| {way} | {found.total():,.0f} | {over:+.2%} | {' | '.join(added)} |", flush=True)


if __name__ == "__main__":
    main()
