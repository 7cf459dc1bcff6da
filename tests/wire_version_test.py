"""An agent and a recorder of different builds refuse each other if what passes between them differs."""

from __future__ import annotations

import hashlib
import re

import recorded

FILES = ("trace/wire/records.h", "trace/spool/layout.h")
#: The version, and the digest of the files without comments and blanks.
KNOWN = (4, "01bed11701cd84e9")


def test_the_version_is_that_of_the_records():
    text = "".join((recorded.ROOT / name).read_text() for name in FILES)
    (version,) = re.findall(r"kWireVersion = (\d+);", text)
    code = re.sub(r"\s+|//[^\n]*|kWireVersion = \d+;", "", text)
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    assert (int(version), digest) == KNOWN, "records have changed: increase kWireVersion, and put both numbers here"
