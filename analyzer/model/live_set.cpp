#include "analyzer/model/live_set.h"

#include <algorithm>
#include <memory>

#include "analyzer/storages/groups.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"

namespace dcmt::model {

using analyzer::Block;
using analyzer::Group;

LiveSet::LiveSet(const TraceData* data, const analyzer::PhaseIndex* phases, StringId device, Sequence at)
    : data_(data), phases_(phases), device_(device), at_(at) {}

Bytes LiveSet::bytes() const {
  Bytes sum;
  for (const Block* block : analyzer::live_blocks(*data_, device_, at_)) sum.value += block->bytes.value;
  return sum;
}

Range<LiveBlock> LiveSet::blocks() const {
  const auto live = std::make_shared<const std::vector<const Block*>>(analyzer::live_blocks(*data_, device_, at_));
  return {live->size(), [&data = *data_, live](std::size_t at) {
            const Block& block = *(*live)[at];
            return LiveBlock{block.id,
                             block.bytes,
                             given(block.storage),
                             analyzer::is_gathered(data, block.storage),
                             text_of(data, block.owner),
                             begin_of(block.span),
                             actor_of(data, block.birth)};
          }};
}

Groups LiveSet::by(analyzer::GroupBy by) const {
  return {analyzer::group_blocks(*data_, *phases_, analyzer::live_blocks(*data_, device_, at_), by, at_)};
}

std::vector<analyzer::ModuleGroup> LiveSet::by_module() const {
  return analyzer::module_groups(*data_, *phases_, analyzer::live_blocks(*data_, device_, at_), at_);
}

std::vector<Group> LiveSet::composition() const {
  constexpr double kLeast = 0.01;
  constexpr std::size_t kMost = 6;
  std::vector<Group> groups = by(analyzer::GroupBy::kCategory).groups;
  std::erase_if(groups, [](const Group& group) { return group.share < kLeast; });
  const bool read = std::ranges::any_of(groups, [](const Group& group) { return analyzer::is_purpose(group.name); });
  if (!read) return {};
  if (groups.size() > kMost) groups.resize(kMost);
  return groups;
}

Bytes Groups::bytes_from(std::size_t from) const {
  Bytes sum;
  for (std::size_t i = from; i < groups.size(); ++i) sum.value += groups[i].bytes.value;
  return sum;
}

}  // namespace dcmt::model
