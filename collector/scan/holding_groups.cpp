#include "collector/scan/holding_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collector/scan/graph/paths.h"

namespace dcmt::scan {

std::vector<HoldingGroup> group_by_holder(const Census& census) {
  std::map<std::tuple<Role, std::string, bool>, HoldingGroup> groups;
  std::map<const HoldingGroup*, std::uint64_t> largest;
  for (const HeldStorage& storage : census.storages) {
    const bool found = !storage.holders.empty();
    const std::string holder = found ? Paths::pattern_of(storage.holders.front().readable()) : std::string();
    const bool confirmed = found && storage.holders.front().confirmed;
    HoldingGroup& group = groups[{storage.role, holder, confirmed}];
    group.role = storage.role;
    group.holder = holder;
    group.confirmed = confirmed;
    group.bytes += storage.bytes;
    ++group.storages;
    if (storage.bytes <= largest[&group]) continue;
    largest[&group] = storage.bytes;
    group.also.clear();
    for (std::size_t i = 1; i < storage.holders.size(); ++i) {
      if (storage.holders[i].confirmed) group.also.push_back(Paths::pattern_of(storage.holders[i].readable()));
    }
  }
  std::vector<HoldingGroup> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  std::ranges::stable_sort(result, std::greater(), &HoldingGroup::bytes);
  return result;
}

}  // namespace dcmt::scan
