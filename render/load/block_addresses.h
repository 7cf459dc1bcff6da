// Addresses of blocks. They are loaded on demand, because they are rarely needed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::load {

using ReceiveAddress = std::function<void(BlockId block, std::uint64_t address)>;

/// Calls `receive` for each block with a known address, ascending by block; a list of all of them would be large. Fails
/// with kBadInput for a file that is no trace, with kStopped if `watch` stops it.
Status read_addresses(const std::string& path, const ReceiveAddress& receive, const analyzer::Watch& watch = {});

}  // namespace dcmt::load
