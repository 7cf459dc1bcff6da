// Reads the sizes of a process's small blocks from outside: the agent has them in tables and publishes only their sum.
#pragma once

#include <sys/types.h>

#include <optional>

#include "collector/recorder/assemble/small_growth.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// Needs well below a millisecond. Blocks that begin or end meanwhile may be counted or not. nullopt if the process may
/// not be read, has ended, or has no such table.
[[nodiscard]] std::optional<BytesBySize> read_small_block_sizes(pid_t pid,
                                                                const spool::SpoolReader::SmallBlockTables& tables);

}  // namespace dcmt::recorder
