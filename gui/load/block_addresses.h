// Where blocks lay. Few ask for it, so that it is read when somebody does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

using TakeAddress = std::function<void(BlockId block, std::uint64_t address)>;

/// Calls `take` for each block whose address is known, ascending by block: a list of all of them would be large. Fails
/// with kBadInput for what is no trace, with kStopped as `watch` says.
Status read_addresses(const std::string& path, const TakeAddress& take, const analyzer::Watch& watch = {});

}  // namespace dcmt::gui::load
