"""What is freed with an object, as predicted by `snapshot --retained`, is freed: checked by weak references to all storages."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "held_training.py"
CUTS = 10


def expression_of(retained: dict) -> str | None:
    """An expression for an object with one reference that can be deleted: "model.blocks[0]"."""
    path = retained["path"].removeprefix("main.")
    is_plain = re.fullmatch(r"\w+(\.\w+|\[\d+\])*", path)
    return path if is_plain and retained["references"] == 1 and retained["confirmed"] else None


@pytest.mark.parametrize("kind", recorded.some(["gpt", "vit", "lora"], 3))
def test_what_is_claimed_goes(kind):
    with subprocess.Popen([sys.executable, "-W", "ignore", PROGRAM, kind], env=recorded.environment(), text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # fmt: skip
        pid = process.stdout.readline().strip()
        shown = recorded.tool("snapshot", pid, "--retained", 60, "--json")
        assert shown.returncode == 0, shown.stderr
        claims = {expression_of(each): each["bytes"] for each in json.loads(shown.stdout)["retained"]}
        claims.pop(None, None)
        assert len(claims) >= CUTS, claims
        freed = {}
        for expression in list(claims)[:CUTS]:
            process.stdin.write(expression + "\n")
            process.stdin.flush()
            freed[expression] = int(process.stdout.readline())
        process.stdin.close()
    print(freed)
    assert freed == {expression: claims[expression] for expression in freed}
