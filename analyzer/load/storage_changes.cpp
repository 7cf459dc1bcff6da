#include "analyzer/load/storage_changes.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <ranges>
#include <tuple>

#include "analyzer/load/trace_rows.h"

namespace dcmt::analyzer {
namespace {

/// The part of `rows` of one storage; `rows` must be ordered by storage.
template <class Rows, class StorageOf>
auto of(const Rows& rows, StorageId storage, StorageOf storage_of) {
  const auto found = std::ranges::equal_range(rows, storage, {}, storage_of);
  return std::span(found.begin(), found.end());
}

/// Storages that were resized or had several blocks.
std::vector<StorageId> changed_storages(const RowIndex<StorageId, Block>& blocks, std::span<const Resize> resizes) {
  std::vector<StorageId> changed;
  const auto add = [&](StorageId storage) {
    if (changed.empty() || changed.back() != storage) changed.push_back(storage);
  };
  StorageId last;
  for (const auto& [storage, block] : blocks) {
    if (storage == last) add(storage);
    last = storage;
  }
  for (const Resize& resize : resizes) add(resize.storage);
  std::ranges::sort(changed);
  const auto repeated = std::ranges::unique(changed);
  changed.erase(repeated.begin(), repeated.end());
  return changed;
}

}  // namespace

void StorageChanges::build(const RowIndex<StorageId, Block>& blocks, const RowIndex<StorageId, Mark>& marks,
                           std::span<const Resize> resizes) {
  resizes_ = resizes;
  for (const auto& [storage, mark] : marks) {
    if (mark->gives_storage()) given_.push_back({storage, mark->span.from_seq});
  }
  std::ranges::sort(given_, {}, [](const StorageTransfer& gift) { return std::tie(gift.storage, gift.seq); });
  for (const StorageId storage : changed_storages(blocks, resizes)) {
    const auto own = blocks.of(storage);
    add(storage, {own.begin(), own.end()});
  }
}

void StorageChanges::add(StorageId storage, std::vector<const Block*> blocks) {
  std::ranges::stable_sort(blocks, {}, [](const Block* block) { return block->span.from_seq; });
  const auto first_block = static_cast<std::ptrdiff_t>(blocks_.size());
  Sequence all_ended;
  for (const Block* block : blocks) {
    all_ended = std::max(all_ended, block->span.end());
    blocks_.push_back({block, all_ended});
  }
  const std::span own(blocks_.begin() + first_block, blocks_.end());

  const auto first_loss = static_cast<std::ptrdiff_t>(losses_.size());
  for (const Resize& resize : resizes_of(storage)) {
    if (resize.bytes == Bytes(0)) losses_.push_back(Gone(resize));
  }
  // A free counts only if it leaves no block: a resize to another size allocates the new block before it frees the old
  // one.
  for (const Block* block : blocks) {
    if (!block->span.ended()) continue;
    const Sequence at = block->span.to_seq;
    const auto later =
        std::ranges::upper_bound(own, at, {}, [](const BlockOf& one) { return one.block->span.from_seq; });
    if (std::prev(later)->all_ended <= at) losses_.push_back(Gone(*block));
  }
  // Of several with the same sequence, the first one counts.
  const std::ranges::subrange losses(losses_.begin() + first_loss, losses_.end());
  std::ranges::stable_sort(losses, {}, &Gone::seq);
  losses_.erase(std::ranges::unique(losses, {}, &Gone::seq).begin(), losses_.end());
}

std::span<const StorageChanges::BlockOf> StorageChanges::blocks_of(StorageId storage) const {
  return of(blocks_, storage, [](const BlockOf& one) { return one.block->storage; });
}

std::span<const Resize> StorageChanges::resizes_of(StorageId storage) const {
  return of(resizes_, storage, &Resize::storage);
}

bool StorageChanges::changed(StorageId storage) const {
  return !resizes_of(storage).empty() || !blocks_of(storage).empty();
}

Bytes StorageChanges::bytes_at(const Storage& storage, Sequence at) const {
  const std::span<const BlockOf> blocks = blocks_of(storage.id);
  const auto block =
      std::ranges::upper_bound(blocks, at, {}, [](const BlockOf& one) { return one.block->span.from_seq; });
  if (block != blocks.begin() && std::prev(block)->all_ended <= at) return {};
  const std::span<const Resize> resizes = resizes_of(storage.id);
  const auto resize = std::ranges::upper_bound(resizes, at, {}, &Resize::seq);
  return resize != resizes.begin() ? std::prev(resize)->bytes.value_or(Bytes()) : storage.bytes;
}

Maybe<Gone> StorageChanges::first_loss(StorageId storage, Sequence after) const {
  const auto losses = of(losses_, storage, &Gone::storage);
  const auto next = std::ranges::upper_bound(losses, after, {}, &Gone::seq);
  return next != losses.end() ? Maybe(*next) : std::nullopt;
}

std::vector<const Block*> StorageChanges::blocks_at(StorageId storage, Sequence at) const {
  std::vector<const Block*> found;
  const std::span<const BlockOf> blocks = blocks_of(storage);
  auto next = std::ranges::upper_bound(blocks, at, {}, [](const BlockOf& one) { return one.block->span.from_seq; });
  while (next != blocks.begin() && std::prev(next)->all_ended > at) {
    --next;
    if (next->block->span.covers(at)) found.push_back(next->block);
  }
  return found;
}

Sequence StorageChanges::given_after(StorageId storage, Sequence after) const {
  const auto gifts = of(given_, storage, &StorageTransfer::storage);
  const auto next = std::ranges::upper_bound(gifts, after, {}, &StorageTransfer::seq);
  return next != gifts.end() ? next->seq : Sequence();
}

}  // namespace dcmt::analyzer
