#include "analyzer/storages/live_set.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/origins.h"
#include "analyzer/storages/parameters.h"
#include "analyzer/storages/stacks.h"
#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// The parameters that a storage was gathered for: as a rule one, several if they are tied.
std::string owner_of(const TraceData& data, StorageId storage) {
  if (!storage.valid()) return "-";
  std::set<Key> keys;
  for (const Mark* mark : data.marks_by_storage.of(storage)) {
    if (mark->gives_storage() && mark->key) keys.insert(*mark->key);
  }
  std::string name;
  for (const Key& key : keys) {
    if (!name.empty()) name += ", ";
    name += describe_key(data, key);
  }
  return name.empty() ? "-" : name;
}

std::string kind_of(const TraceData& data, const Block& block) {
  if (is_gathered(data, block.storage)) return std::string(kGatheredParameter);
  if (block.owner.valid()) return std::string(data.text(block.owner));
  if (block.storage.valid()) return "tensor";
  if (block.bytes.value < kFollowedBytes && data.meta_text(meta::kDetail) == text_of(Detail::kLifetimes)) {
    return kSmallBlocks;
  }
  const Operator* op = named_operator(data, block.birth.op);
  return "no tensor: allocated by " + (op != nullptr ? std::string(data.text(op->name)) : "no operator") + " at " +
         describe_site(data, block.birth.stack);
}

/// What a device had in blocks that are not followed: one row instead of theirs.
bool is_sum_of_small_blocks(const TraceData& data, const Block& block) {
  return block.owner.valid() && data.text(block.owner) == kSmallBlocks;
}

/// The latest gather that gave this storage by then, nullptr if none did.
const Mark* latest_gather(const TraceData& data, StorageId storage, Sequence at) {
  const Mark* latest = nullptr;
  if (!storage.valid()) return latest;
  for (const Mark* mark : data.marks_by_storage.of(storage)) {
    if (mark->kind != MarkKind::kGather || mark->span.from_seq > at) continue;
    if (latest == nullptr || mark->span.from_seq > latest->span.from_seq) latest = mark;
  }
  return latest;
}

/// What names of groups are found with, made when the first is asked for.
struct Names {
  explicit Names(const TraceData& trace) : data(trace), origins(trace) {}

  const HolderNames& holders() {
    if (!holders_) holders_.emplace(data);
    return *holders_;
  }

  const TraceData& data;
  Origins origins;

 private:
  std::optional<HolderNames> holders_;
};

std::string name_of_group(const PhaseIndex& phases, Names& names, const Block& block, GroupBy by, Sequence at) {
  const TraceData& data = names.data;
  if (is_sum_of_small_blocks(data, block)) return kSmallBlocks;
  switch (by) {
    case GroupBy::kSite:
      return describe_site(data, block.birth.stack);
    case GroupBy::kOperator: {
      const Operator* op = named_operator(data, block.birth.op);
      return op != nullptr ? std::string(data.text(op->name)) : "(no operator recorded)";
    }
    case GroupBy::kPhase: {
      const Mark* phase = phases.at(block.span.from_seq);
      return phase != nullptr ? std::string(data.text(phase->name)) : "(no phase)";
    }
    case GroupBy::kKind:
      return kind_of(data, block);
    case GroupBy::kOwner:
      return owner_of(data, block.storage);
    case GroupBy::kOrigin: {
      const Mark* gather = latest_gather(data, block.storage, at);
      return gather != nullptr ? names.origins.of(*gather) : "-";
    }
    case GroupBy::kHolder:
      return block.storage.valid() ? names.holders().of(block.storage) : kind_of(data, block);
    case GroupBy::kCategory:
      return block.storage.valid() && !is_gathered(data, block.storage) ? names.holders().category_of(block.storage)
                                                                        : kind_of(data, block);
  }
  return {};
}

}  // namespace

std::vector<const Block*> live_blocks(const TraceData& data, StringId device, Sequence at) {
  std::vector<const Block*> live = data.lifetimes.at(at);
  std::erase_if(live, [&](const Block* block) { return block->device != device; });
  return live;
}

bool is_gathered(const TraceData& data, StorageId storage) {
  if (!storage.valid()) return false;
  const auto marks = data.marks_by_storage.of(storage);
  return std::any_of(marks.begin(), marks.end(), [](const Mark* mark) { return mark->gives_storage(); });
}

std::vector<Group> group_blocks(const TraceData& data, const PhaseIndex& phases,
                                const std::vector<const Block*>& blocks, GroupBy by, Sequence at) {
  struct Sum {
    Group group;
    std::set<StorageId> storages;
    Bytes largest;
  };
  Names names(data);
  std::map<std::string, Sum> sums;
  for (const Block* block : blocks) {
    std::string name = name_of_group(phases, names, *block, by, at);
    Sum& sum = sums[name];
    sum.group.name = std::move(name);
    sum.group.bytes.value += block->bytes.value;
    if (!is_sum_of_small_blocks(data, *block)) ++sum.group.blocks;
    if (block->storage.valid()) sum.storages.insert(block->storage);
    if (!sum.group.largest.valid() || block->bytes > sum.largest) {
      sum.largest = block->bytes;
      sum.group.largest = block->id;
    }
  }
  std::vector<Group> groups;
  for (auto& [name, sum] : sums) {
    sum.group.storages = static_cast<std::int64_t>(sum.storages.size());
    groups.push_back(std::move(sum.group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  return groups;
}

}  // namespace dcmt::analyzer
