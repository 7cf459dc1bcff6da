// Blocks in groups, by the torch.nn.Module for which they were allocated.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/groups.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

struct ModuleGroup {
  std::string name;
  bool is_module = false;
  Bytes bytes;
  double share = 0;
  std::vector<Group> categories;  ///< of the bytes, most first

  static constexpr std::string_view kShape = "module_group";
  static void describe(auto&& field) {
    field("name", &ModuleGroup::name,
          "of a module, \"model.layers.3.mlp\"; of what no module allocated, the site, or \"under 64 KiB, not "
          "followed\"");
    field("is_module", &ModuleGroup::is_module, "");
    field("bytes", &ModuleGroup::bytes, "without those of modules inside it");
    field("share", &ModuleGroup::share, "of the bytes of all groups");
    field("categories", &ModuleGroup::categories, "");
  }
};

/// Groups of blocks by module, most bytes first.
/// @param at  the point at which the blocks are alive
[[nodiscard]] std::vector<ModuleGroup> module_groups(const TraceData& data, const PhaseIndex& phases,
                                                     const std::vector<const Block*>& blocks, Sequence at);

/// Joins modules whose names begin with the same `depth` parts: with 2, "model.layers" has those of all layers.
[[nodiscard]] std::vector<ModuleGroup> at_depth(const std::vector<ModuleGroup>& groups, std::size_t depth);

}  // namespace dcmt::analyzer
