"""The bytes of Python objects of many kinds, estimated from outside, are those that tracemalloc counts."""

from __future__ import annotations

import json

import pytest
import recorded

PROGRAM = recorded.PROGRAMS / "object_kinds.py"
# The reading of variables for which the program waits at its end.
LATEST = """
SELECT s.text, c.bytes FROM collection c JOIN string s ON s.id = c.path
WHERE s.text LIKE 'main.of\\_%' ESCAPE '\\' AND s.text NOT LIKE '%[%'
AND c.scan = (SELECT max(id) FROM scan WHERE NOT everything AND NOT ended)
"""


def test_objects_of_each_kind_have_the_bytes_that_tracemalloc_counts(tmp_path):
    counted = json.loads(recorded.record(tmp_path / "out", PROGRAM).stdout.splitlines()[-1])
    (trace,) = recorded.traces(tmp_path / "out")
    found = {path.removeprefix("main.of_"): size for path, size in recorded.query(trace, LATEST)}
    assert found == {kind: pytest.approx(size, rel=0.05) for kind, size in counted.items()}
