// The sizes of a process's small blocks, read in its memory from outside: the agent has them in tables and tells only
// their sum.
#pragma once

#include <sys/types.h>

#include <optional>

#include "collector/recorder/assemble/small_growth.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// Takes well below a millisecond. Blocks that come or go meanwhile may be counted or not. nullopt where the process
/// may not be read, has ended, or has no such table.
[[nodiscard]] std::optional<BytesBySize> read_small_block_sizes(pid_t pid,
                                                                const spool::SpoolReader::SmallBlockTables& tables);

}  // namespace dcmt::recorder
