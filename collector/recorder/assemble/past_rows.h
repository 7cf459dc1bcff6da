// Writes the rows of what an attached process had before its first record.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/past.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// As Assembler::begin_past(). The journal's time is that of the begin.
/// @param has_past  set to true when the first row begins
Status write_past(Journal& journal, Lifetimes& lifetimes, const std::vector<PastStorage>& past,
                  const std::vector<PastGpuBlock>& gpu_blocks, std::int64_t smallest, std::int64_t room,
                  bool& has_past);

}  // namespace dcmt::recorder
