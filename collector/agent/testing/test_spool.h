// The agent's core at work in a test's own process.
#pragma once

#include "trace/spool/spool_reader.h"

namespace dcmt::agent {

/// A spool of 8 chunks, and the open gate. It is made at the first call: a process has one, so tests share it, and each
/// drains it to the end.
spool::SpoolReader& test_spool();

}  // namespace dcmt::agent
