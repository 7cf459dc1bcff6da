#include "analyzer/storages/module_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analyzer/storages/block_module.h"
#include "analyzer/storages/group_names.h"

namespace dcmt::analyzer {
namespace {

/// Most bytes first, with shares of the sum of all.
template <class Each>
void rank_by_bytes(std::vector<Each>& groups, std::int64_t total) {
  for (Each& each : groups) {
    each.share = total > 0 ? static_cast<double>(each.bytes.value) / static_cast<double>(total) : 0;
  }
  std::ranges::stable_sort(groups, std::greater(), &Each::bytes);
}

using ByName = std::map<std::pair<std::string, bool>, std::vector<const Block*>>;

/// "model.layers" of "model.layers.3.mlp" for 2. An index between brackets belongs to its part, and so does "self." to
/// the attribute that has the model.
std::string first_parts(const std::string& name, std::size_t depth) {
  if (name.starts_with("self.")) ++depth;
  std::size_t end = 0;
  for (; depth > 0 && end != std::string::npos; --depth) end = name.find('.', end == 0 ? 0 : end + 1);
  return name.substr(0, end);
}

}  // namespace

std::vector<ModuleGroup> module_groups(const TraceData& data, const PhaseIndex& phases,
                                       const std::vector<const Block*>& blocks, Sequence at) {
  GroupNames names(data, phases);
  ByName by_name;
  std::int64_t total = 0;
  for (const Block* block : blocks) {
    const bool is_module = !is_sum_of_small_blocks(data, *block) && !module_of(data, *block).empty();
    by_name[{names.of(*block, GroupBy::kModule, at), is_module}].push_back(block);
    total += block->bytes.value;
  }
  std::vector<ModuleGroup> groups;
  for (const auto& [key, of_group] : by_name) {
    ModuleGroup group{key.first, key.second, {}, 0, group_blocks(data, phases, of_group, GroupBy::kCategory, at)};
    for (const Block* block : of_group) group.bytes.value += block->bytes.value;
    groups.push_back(std::move(group));
  }
  rank_by_bytes(groups, total);
  return groups;
}

std::vector<ModuleGroup> at_depth(const std::vector<ModuleGroup>& groups, std::size_t depth) {
  std::map<std::pair<std::string, bool>, ModuleGroup> joined;
  std::int64_t total = 0;
  for (const ModuleGroup& each : groups) {
    const std::string name = each.is_module ? first_parts(each.name, depth) : each.name;
    ModuleGroup& group = joined[{name, each.is_module}];
    group.name = name;
    group.is_module = each.is_module;
    group.bytes.value += each.bytes.value;
    total += each.bytes.value;
    for (const Group& category : each.categories) {
      auto same = std::ranges::find(group.categories, category.name, &Group::name);
      if (same == group.categories.end()) {
        same = group.categories.emplace(same);
        same->name = category.name;
      }
      Group& sum = *same;
      sum.bytes.value += category.bytes.value;
      sum.blocks += category.blocks;
      sum.storages += category.storages;
    }
  }
  std::vector<ModuleGroup> result;
  for (auto& [key, group] : joined) {
    rank_by_bytes(group.categories, group.bytes.value);
    result.push_back(std::move(group));
  }
  rank_by_bytes(result, total);
  return result;
}

}  // namespace dcmt::analyzer
