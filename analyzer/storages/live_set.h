// What is alive at one moment, and in which groups.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

enum class GroupBy { kSite, kOperator, kPhase, kKind, kOwner, kOrigin, kHolder, kCategory };

struct GroupName {
  std::string_view name;
  GroupBy by;
};
/// All of them, by the names that people give.
inline constexpr GroupName kGroupNames[] = {{"site", GroupBy::kSite},     {"operator", GroupBy::kOperator},
                                            {"phase", GroupBy::kPhase},   {"kind", GroupBy::kKind},
                                            {"owner", GroupBy::kOwner},   {"origin", GroupBy::kOrigin},
                                            {"holder", GroupBy::kHolder}, {"category", GroupBy::kCategory}};

struct Group {
  std::string name;
  Bytes bytes;
  std::int64_t blocks = 0;    ///< without those that are not followed
  std::int64_t storages = 0;  ///< that own those blocks, where known
  BlockId largest;
};

/// The blocks of a device that are alive right after the event at `at`.
[[nodiscard]] std::vector<const Block*> live_blocks(const TraceData& data, StringId device, Sequence at);

/// Groups of blocks by where they were allocated, by operator, by phase, by kind, by owner, by origin, or by holder,
/// most bytes first. Kinds are only those that facts of the trace support: "gathered parameter" (a gather or wait gave
/// that storage), "tensor", the name of an owner that is none ("cuBLAS workspace"), and where there is neither, who
/// allocated the block. Owners are the parameters that were gathered, "graph 0 id 3" (of several, all), and "-".
/// Origins are those of the latest gather (origins.h), and "-". Holders and categories are those of
/// holder_names.h.
/// @param at  the moment at which they are alive
[[nodiscard]] std::vector<Group> group_blocks(const TraceData& data, const PhaseIndex& phases,
                                              const std::vector<const Block*>& blocks, GroupBy by, Sequence at);

/// True if a gather or wait ever gave this storage.
[[nodiscard]] bool is_gathered(const TraceData& data, StorageId storage);

}  // namespace dcmt::analyzer
