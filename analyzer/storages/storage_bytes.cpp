#include "analyzer/storages/storage_bytes.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace dcmt::analyzer {

Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at) {
  if (!storage.span.covers(at)) return {};
  const std::span<const StorageLevel> levels = data.storage_changes.levels(storage.id);
  if (!levels.empty()) {
    const auto next = std::ranges::upper_bound(levels, at, {}, &StorageLevel::seq);
    return next != levels.begin() ? std::prev(next)->bytes : storage.bytes;
  }
  for (const Block* block : data.blocks_by_storage.of(storage.id)) {
    if (block->span.ended() && block->span.to_seq <= at) return {};
  }
  return storage.bytes;
}

std::optional<Gone> first_gone(const TraceData& data, const Storage& storage, Sequence after) {
  std::optional<Gone> gone;
  const auto consider = [&](GoneBy by, Sequence seq, TimeNs ns, const Actor& actor) {
    if (seq > after && (!gone || seq < gone->seq)) gone = Gone{by, seq, ns, actor, std::nullopt};
  };
  if (storage.span.ended()) {
    consider(GoneBy::kStorageEnd, storage.span.to_seq, storage.span.to_ns, storage.end);
    if (gone) gone->ordinal = storage.end_ordinal;
  }
  const auto freed = [&](const Block& block) {
    if (block.span.ended()) consider(GoneBy::kBlockFree, block.span.to_seq, block.span.to_ns, block.end);
  };
  if (data.storage_changes.changed(storage.id)) {
    const std::span<const StorageLoss> losses = data.storage_changes.losses(storage.id);
    const auto next = std::ranges::upper_bound(losses, after, {}, &StorageLoss::seq);
    if (next == losses.end()) return gone;
    if (next->freed != nullptr) {
      freed(*next->freed);
    } else {
      consider(GoneBy::kResize, next->seq, next->resize->span.from_ns, next->resize->by);
    }
  } else {
    for (const Block* block : data.blocks_by_storage.of(storage.id)) freed(*block);
  }
  return gone;
}

std::vector<const Block*> blocks_at(const TraceData& data, StorageId storage, Sequence at) {
  if (data.storage_changes.changed(storage)) return data.storage_changes.blocks_at(storage, at);
  std::vector<const Block*> found;
  for (const Block* block : data.blocks_by_storage.of(storage)) {
    if (block->span.covers(at)) found.push_back(block);
  }
  return found;
}

StringId device_of(const TraceData& data, StorageId storage) {
  const auto blocks = data.blocks_by_storage.of(storage);
  return blocks.begin() == blocks.end() ? StringId() : (*blocks.begin())->device;
}

std::string_view name_of(GoneBy by) {
  switch (by) {
    case GoneBy::kResize:
      return "resize";
    case GoneBy::kStorageEnd:
      return "storage_end";
    case GoneBy::kBlockFree:
      break;
  }
  return "block_free";
}

}  // namespace dcmt::analyzer
