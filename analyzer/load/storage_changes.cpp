#include "analyzer/load/storage_changes.h"

#include <iterator>
#include <limits>
#include <tuple>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {
namespace {

constexpr Sequence kNever{std::numeric_limits<std::int64_t>::max()};

std::vector<const Mark*> resizes_of(const TraceData& data, StorageId storage) {
  std::vector<const Mark*> resizes;
  for (const Mark* mark : data.marks_by_storage.of(storage)) {
    if (mark->kind == MarkKind::kResize) resizes.push_back(mark);
  }
  std::ranges::stable_sort(resizes, {}, [](const Mark* mark) { return mark->span.from_seq; });
  return resizes;
}

std::vector<const Block*> in_order(const TraceData& data, StorageId storage) {
  const auto range = data.blocks_by_storage.of(storage);
  std::vector<const Block*> blocks(range.begin(), range.end());
  std::ranges::stable_sort(blocks, {}, [](const Block* block) { return block->span.from_seq; });
  return blocks;
}

std::vector<Sequence> ends_of(const std::vector<const Block*>& blocks) {
  std::vector<Sequence> ends;
  for (const Block* block : blocks) {
    if (block->span.ended()) ends.push_back(block->span.to_seq);
  }
  std::ranges::sort(ends);
  return ends;
}

}  // namespace

void StorageChanges::build(const TraceData& data) {
  std::vector<StorageId> changed;
  StorageId last;
  for (const auto& [storage, block] : data.blocks_by_storage) {
    if (storage == last) changed.push_back(storage);
    last = storage;
  }
  for (const auto& [storage, mark] : data.marks_by_storage) {
    if (mark->kind == MarkKind::kResize) changed.push_back(storage);
    if (mark->gives_storage()) given_.push_back({storage, mark->span.from_seq});
  }
  std::ranges::sort(given_, {}, [](const Gift& gift) { return std::tie(gift.storage, gift.seq); });
  std::ranges::sort(changed);
  const auto repeated = std::ranges::unique(changed);
  changed.erase(repeated.begin(), repeated.end());
  for (const StorageId id : changed) {
    if (const Storage* storage = data.storages.find(id)) add(data, *storage);
  }
}

void StorageChanges::add(const TraceData& data, const Storage& storage) {
  const std::vector<const Mark*> resizes = resizes_of(data, storage.id);
  const std::vector<const Block*> begun = in_order(data, storage.id);
  const std::vector<Sequence> ends = ends_of(begun);

  std::vector<Sequence> moments{storage.span.from_seq};
  for (const Mark* resize : resizes) moments.push_back(resize->span.from_seq);
  for (const Block* block : begun) moments.push_back(block->span.from_seq);
  moments.insert(moments.end(), ends.begin(), ends.end());
  std::ranges::sort(moments);
  const auto repeated = std::ranges::unique(moments);
  moments.erase(repeated.begin(), repeated.end());

  Bytes bytes = storage.bytes;
  auto resize = resizes.begin();
  auto begin = begun.begin();
  auto end = ends.begin();
  for (const Sequence now : moments) {
    for (; resize != resizes.end() && (*resize)->span.from_seq <= now; ++resize) {
      bytes = (*resize)->bytes.value_or(Bytes());
    }
    while (begin != begun.end() && (*begin)->span.from_seq <= now) ++begin;
    while (end != ends.end() && *end <= now) ++end;
    const bool all_freed = begin != begun.begin() && end - ends.begin() >= begin - begun.begin();
    levels_.push_back({storage.id, now, all_freed ? Bytes() : bytes});
  }

  const std::size_t first_loss = losses_.size();
  for (const Mark* mark : resizes) {
    if (mark->bytes == Bytes(0)) losses_.push_back({storage.id, mark->span.from_seq, mark, nullptr});
  }
  // A free counts only if it leaves no block: a resize to another size takes the new block before it frees the old.
  for (const Block* block : begun) {
    if (!block->span.ended()) continue;
    const Sequence at = block->span.to_seq;
    const auto begun_by = std::ranges::upper_bound(begun, at, {}, [](const Block* one) { return one->span.from_seq; });
    const auto ended_by = std::ranges::upper_bound(ends, at);
    if (ended_by - ends.begin() >= begun_by - begun.begin()) losses_.push_back({storage.id, at, nullptr, block});
  }
  std::ranges::stable_sort(losses_.begin() + static_cast<std::ptrdiff_t>(first_loss), losses_.end(), {},
                           &StorageLoss::seq);

  Sequence all_ended;
  for (const Block* block : begun) {
    all_ended = std::max(all_ended, block->span.ended() ? block->span.to_seq : kNever);
    blocks_.push_back({storage.id, block, all_ended});
  }
}

Sequence StorageChanges::given_after(StorageId storage, Sequence after) const {
  const std::span<const Gift> gifts = of(given_, storage);
  const auto next = std::ranges::upper_bound(gifts, after, {}, &Gift::seq);
  return next != gifts.end() ? next->seq : Sequence();
}

std::vector<const Block*> StorageChanges::blocks_at(StorageId storage, Sequence at) const {
  std::vector<const Block*> found;
  const std::span<const BlockOf> blocks = of(blocks_, storage);
  auto next = std::ranges::upper_bound(blocks, at, {}, [](const BlockOf& of) { return of.block->span.from_seq; });
  while (next != blocks.begin() && std::prev(next)->all_ended > at) {
    --next;
    if (next->block->span.covers(at)) found.push_back(next->block);
  }
  return found;
}

}  // namespace dcmt::analyzer
