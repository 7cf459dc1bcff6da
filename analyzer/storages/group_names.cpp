#include "analyzer/storages/group_names.h"

#include <algorithm>
#include <set>

#include "analyzer/storages/block_module.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/parameters.h"
#include "analyzer/storages/stacks.h"
#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// The parameters that a storage was gathered for: usually one; several if they are tied.
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
  const std::optional<Detail> detail = detail_of(data.meta_text(meta::kDetail));
  if (block.bytes.value < kFollowedBytes && detail && *detail <= Detail::kLifetimes) {
    return kSmallBlocks;
  }
  const Operator* op = named_operator(data, block.birth.op);
  if (op == nullptr) return "no tensor, allocated at " + describe_site(data, block.birth.stack);
  std::string_view name = data.text(op->name);
  if (name.starts_with("aten::")) name.remove_prefix(6);
  return std::string(name) + " workspace, " + describe_site(data, block.birth.stack);
}

/// The latest gather before `at` that gave this storage; nullptr if there is none.
const Mark* latest_gather(const TraceData& data, StorageId storage, Sequence at) {
  const Mark* latest = nullptr;
  if (!storage.valid()) return latest;
  for (const Mark* mark : data.marks_by_storage.of(storage)) {
    if (mark->kind != MarkKind::kGather || mark->span.from_seq > at) continue;
    if (latest == nullptr || mark->span.from_seq > latest->span.from_seq) latest = mark;
  }
  return latest;
}

}  // namespace

bool is_sum_of_small_blocks(const TraceData& data, const Block& block) {
  return block.owner.valid() && data.text(block.owner) == kSmallBlocks;
}

GroupNames::GroupNames(const TraceData& data, const PhaseIndex& phases)
    : data_(&data), phases_(&phases), origins_(data) {}

const HolderNames& GroupNames::holders() {
  if (!holders_) holders_.emplace(*data_);
  return *holders_;
}

std::string GroupNames::of(const Block& block, GroupBy by, Sequence at) {
  const TraceData& data = *data_;
  if (is_sum_of_small_blocks(data, block)) return kSmallBlocks;
  switch (by) {
    case GroupBy::kSite:
      return describe_site(data, block.birth.stack);
    case GroupBy::kOperator: {
      const Operator* op = named_operator(data, block.birth.op);
      return op != nullptr ? std::string(data.text(op->name)) : std::string(kNoOperator);
    }
    case GroupBy::kPhase: {
      const Mark* phase = phases_->at(block.span.from_seq);
      return phase != nullptr ? std::string(data.text(phase->name)) : "(no phase)";
    }
    case GroupBy::kKind:
      return kind_of(data, block);
    case GroupBy::kOwner:
      return owner_of(data, block.storage);
    case GroupBy::kOrigin: {
      const Mark* gather = latest_gather(data, block.storage, at);
      return gather != nullptr ? origins_.of(*gather) : "-";
    }
    case GroupBy::kModule: {
      const std::string_view module = module_of(data, block);
      return module.empty() ? describe_site(data, block.birth.stack) : std::string(module);
    }
    case GroupBy::kHolder:
      return block.storage.valid() ? holders().of(block.storage) : kind_of(data, block);
    case GroupBy::kCategory:
      return block.storage.valid() && !is_gathered(data, block.storage) ? holders().category_of(block.storage)
                                                                        : kind_of(data, block);
  }
  return {};
}

}  // namespace dcmt::analyzer
