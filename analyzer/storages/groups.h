// Blocks in groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/group_names.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

struct Group {
  std::string name;
  Bytes bytes;
  double share = 0;           ///< part of the bytes of all groups
  std::int64_t blocks = 0;    ///< blocks that are tracked
  std::int64_t storages = 0;  ///< storages that own these blocks, if known
  std::optional<BlockId> largest_block;
  std::optional<StorageId> largest_storage;

  static constexpr std::string_view kShape = "group";
  static void describe(auto&& field) {
    field("name", &Group::name,
          "of the site, operator, phase, kind (\"gathered parameter\", \"other\") or owner: the parameter that was "
          "gathered (\"graph 0 id 3\", \"layers.0.weight (FSDP2)\", or \"-\"), or origin of its gather (\"compiled\", "
          "\"hook\"), or holder (\"main: losses\", \"holder not known\"), or category (\"optimizer state\"); in every "
          "grouping "
          "\"under 64 KiB, not followed\"");
    field("bytes", &Group::bytes, "");
    field("blocks", &Group::blocks, "0: their number is not known");
    field("storages", &Group::storages, "");
    field("largest_block", &Group::largest_block, "");
    field("largest_storage", &Group::largest_storage, "of that block; null where none is known");
  }
};

/// Groups of blocks, most bytes first: by allocation site, operator, phase, kind, owner, origin, holder or category.
/// Kinds need facts in the trace: "gathered parameter" (a gather or wait gave the storage), "tensor", or the name of an
/// owner that is not a tensor ("cuBLAS workspace"); else the allocating code. Owners are gathered parameters, "graph 0
/// id 3" (if several, all of them), or "-". Origins are those of the latest gather (origins.h), or "-". Holders and
/// categories: see holder_names.h.
/// @param at  the point at which the blocks are alive
[[nodiscard]] std::vector<Group> group_blocks(const TraceData& data, const PhaseIndex& phases,
                                              const std::vector<const Block*>& blocks, GroupBy by, Sequence at);

}  // namespace dcmt::analyzer
