// Groups the storages of a census by holder: "1,000 storages in main.losses[*]" instead of 1,000 lines.
#pragma once

#include <string>
#include <vector>

#include "collector/scan/census.h"

namespace dcmt::scan {

struct HoldingGroup {
  Role role = Role::kNone;
  /// The first holder of its storages, with [*] for indexes; empty if no holder was found.
  std::string holder;
  /// False: the holder was changing while it was read.
  bool confirmed = false;
  std::uint64_t bytes = 0;
  std::size_t storages = 0;
  std::vector<std::string> also;  ///< other holders of its largest storage
};

/// Groups sorted by bytes, the largest first.
[[nodiscard]] std::vector<HoldingGroup> group_by_holder(const Census& census);

}  // namespace dcmt::scan
