// The name of the group that a block is in, for each way to group them.
#pragma once

#include <optional>
#include <string>

#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/origins.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// What a device had in blocks that are not followed: one row instead of theirs.
[[nodiscard]] bool is_sum_of_small_blocks(const TraceData& data, const Block& block);

/// What names are found with, made when the first that needs it is asked for. `data` and `phases` must outlive it. Not
/// for several threads at once.
class GroupNames {
 public:
  GroupNames(const TraceData& data, const PhaseIndex& phases);

  /// As group_blocks() says.
  /// @param at  a moment at which it is alive
  [[nodiscard]] std::string of(const Block& block, GroupBy by, Sequence at);

 private:
  const HolderNames& holders();

  const TraceData* data_;
  const PhaseIndex* phases_;
  Origins origins_;
  std::optional<HolderNames> holders_;
};

}  // namespace dcmt::analyzer
