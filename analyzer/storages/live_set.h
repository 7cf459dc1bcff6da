// What is alive at one point in time.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The blocks of a device that are alive right after the event at `at`.
[[nodiscard]] std::vector<const Block*> live_blocks(const TraceData& data, StringId device, Sequence at);

/// True if a gather or wait ever gave this storage.
[[nodiscard]] bool is_gathered(const TraceData& data, StorageId storage);

}  // namespace dcmt::analyzer
