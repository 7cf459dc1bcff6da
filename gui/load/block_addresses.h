// Where blocks lay. Few ask for it, so that it is read when somebody does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

struct BlockAddress {
  BlockId block;
  std::uint64_t address = 0;
};

/// Ascending by block; without those of which it is not known. Fails with kBadInput for what is no trace, with kStopped
/// as `watch` says.
Expected<std::vector<BlockAddress>> read_addresses(const std::string& path, const analyzer::Watch& watch = {});

}  // namespace dcmt::gui::load
