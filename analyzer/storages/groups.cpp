#include "analyzer/storages/groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/load/optional_text.h"

namespace dcmt::analyzer {

std::vector<Group> group_blocks(const TraceData& data, const PhaseIndex& phases,
                                const std::vector<const Block*>& blocks, GroupBy by, Sequence at) {
  struct Sum {
    Group group;
    std::set<StorageId> storages;
    const Block* largest = nullptr;
  };
  GroupNames names(data, phases);
  std::map<std::string, Sum> sums;
  std::int64_t total = 0;
  for (const Block* block : blocks) {
    std::string name = names.of(*block, by, at);
    Sum& sum = sums[name];
    sum.group.name = std::move(name);
    sum.group.bytes.value += block->bytes.value;
    if (!is_sum_of_small_blocks(data, *block)) ++sum.group.blocks;
    if (block->storage.valid()) sum.storages.insert(block->storage);
    if (sum.largest == nullptr || block->bytes > sum.largest->bytes) sum.largest = block;
    total += block->bytes.value;
  }
  std::vector<Group> groups;
  for (auto& [name, sum] : sums) {
    sum.group.storages = static_cast<std::int64_t>(sum.storages.size());
    sum.group.largest_block = sum.largest->id;
    sum.group.largest_storage = given(sum.largest->storage);
    if (total > 0) sum.group.share = static_cast<double>(sum.group.bytes.value) / static_cast<double>(total);
    groups.push_back(std::move(sum.group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  return groups;
}

}  // namespace dcmt::analyzer
