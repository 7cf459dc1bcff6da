"""An agent and a recorder of different builds refuse each other if what passes between them differs."""

from __future__ import annotations

import hashlib
import re

import recorded

FILES = (*sorted((recorded.ROOT / "trace" / "wire").glob("*.h")), recorded.ROOT / "trace" / "spool" / "layout.h")
#: The version, and the digest of the files without comments, blanks and includes.
KNOWN = (4, "462929653c6d63cf")


def test_the_version_is_that_of_the_records():
    text = "".join(file.read_text() for file in FILES)
    (version,) = re.findall(r"kWireVersion = (\d+);", text)
    code = re.sub(r"\s+|//[^\n]*|#include[^\n]*|kWireVersion = \d+;", "", text)
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    assert (int(version), digest) == KNOWN, "records have changed: increase kWireVersion, and put both numbers here"
