// Blocks in groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/group_names.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

struct Group {
  std::string name;
  Bytes bytes;
  std::int64_t blocks = 0;    ///< blocks that are tracked
  std::int64_t storages = 0;  ///< storages that own these blocks, if known
  BlockId largest;
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
