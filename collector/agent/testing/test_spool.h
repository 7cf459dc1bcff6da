// Runs the agent's core in a test's own process.
#pragma once

#include "trace/spool/spool_reader.h"

namespace dcmt::agent {

/// A spool of 8 chunks, and the open gate. The first call makes it. A process has only one, so tests share it, and each
/// test drains it completely.
spool::SpoolReader& test_spool();

}  // namespace dcmt::agent
