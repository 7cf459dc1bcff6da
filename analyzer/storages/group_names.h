// The name of a block's group, for each kind of grouping.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/origins.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

enum class GroupBy { kSite, kOperator, kPhase, kKind, kOwner, kOrigin, kHolder, kCategory, kModule };

struct GroupName {
  std::string_view name;
  GroupBy by;
};
/// All groupings, with the names used by options and reports.
inline constexpr GroupName kGroupNames[] = {
    {"site", GroupBy::kSite},     {"operator", GroupBy::kOperator}, {"phase", GroupBy::kPhase},
    {"kind", GroupBy::kKind},     {"owner", GroupBy::kOwner},       {"origin", GroupBy::kOrigin},
    {"holder", GroupBy::kHolder}, {"category", GroupBy::kCategory}, {"module", GroupBy::kModule}};

/// The group of blocks whose operator was not recorded: below detail `operators`, all but those of autograd's nodes.
inline constexpr std::string_view kNoOperator = "(no operator recorded)";

/// True for a row that stands for all blocks of a device that are not tracked.
[[nodiscard]] bool is_sum_of_small_blocks(const TraceData& data, const Block& block);

/// Makes its sources of names on first use. `data` and `phases` must outlive this object. Not thread-safe.
class GroupNames {
 public:
  GroupNames(const TraceData& data, const PhaseIndex& phases);

  /// The name as in group_blocks() (groups.h).
  /// @param at  a point at which the block is alive
  [[nodiscard]] std::string of(const Block& block, GroupBy by, Sequence at);

 private:
  const HolderNames& holders();

  const TraceData* data_;
  const PhaseIndex* phases_;
  Origins origins_;
  std::optional<HolderNames> holders_;
};

}  // namespace dcmt::analyzer
