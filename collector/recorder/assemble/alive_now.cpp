#include "collector/recorder/assemble/alive_now.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

/// Only these are named: the others have less.
constexpr std::size_t kMostNamedStacks = 60;

const std::string kSmall = std::string("blocks ") + kSmallBlocks;

struct Sum {
  std::int64_t bytes = 0, blocks = 0;
};

/// Empty for what lines name better.
std::string_view group_of(scan::Role role) {
  switch (role) {
    case scan::Role::kParameter:
      return "parameters";
    case scan::Role::kGradient:
      return "gradients";
    case scan::Role::kOptimizerState:
      return "optimizer state";
    case scan::Role::kBuffer:
      return "buffers";
    case scan::Role::kSaved:
    case scan::Role::kNone:
      break;
  }
  return {};
}

}  // namespace

Expected<std::vector<AliveGroup>> alive_now(const Lifetimes& lifetimes, const OwnerBook& owners, StackPlaces& places,
                                            std::size_t most) {
  std::unordered_map<RowId, Sum> by_stack;
  std::map<std::string, Sum> by_name;
  lifetimes.each_block([&](const BlockRow& block) {
    if (block.gpu != lifetimes.peak_device()) return;
    const bool is_small = block.address == 0;  // the sum of all
    const std::string_view kind = is_small ? kSmall : group_of(owners.role_of(block.storage));
    Sum& sum = kind.empty() ? by_stack[block.birth.stack] : by_name[std::string(kind)];
    sum.bytes += block.bytes;
    if (!is_small) ++sum.blocks;
  });
  std::vector<StackBytes> stacks;
  for (const auto& [stack, part] : by_stack) stacks.push_back({stack, part.bytes});
  DCMT_ASSIGN_OR_RETURN(const auto names, places.of_largest(std::move(stacks), kMostNamedStacks, "other lines"));
  for (const auto& [stack, part] : by_stack) {
    const std::string& name = names.at(stack);
    Sum& sum = by_name[name.empty() ? "no line of Python" : name];
    sum.bytes += part.bytes;
    sum.blocks += part.blocks;
  }
  std::vector<AliveGroup> groups;
  for (const auto& [name, sum] : by_name) groups.push_back({sum.bytes, sum.blocks, name});
  std::ranges::stable_sort(groups, std::greater(), &AliveGroup::bytes);
  if (groups.size() > most) groups.resize(most);
  return groups;
}

}  // namespace dcmt::recorder
