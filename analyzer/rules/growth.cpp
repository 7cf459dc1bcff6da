#include "analyzer/rules/growth.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace dcmt::analyzer {

void HeldStorages::add(const Storage& storage, Bytes bytes, Sequence needed_until, bool frees) {
  storages_.push_back({storage.id, bytes, needed_until, frees});
  GrowingSite& site = sites_[storage.birth.stack];
  site.stack = storage.birth.stack;
  site.bytes.value += bytes.value;
  ++site.storages;
  bytes_.value += bytes.value;
}

void HeldStorages::move_to(Growth& growth) {
  growth.storages = std::move(storages_);
  std::ranges::sort(growth.storages, {}, &GrowingStorage::storage);
  for (const auto& [stack, site] : sites_) growth.sites.push_back(site);
  std::ranges::stable_sort(growth.sites, std::greater(), &GrowingSite::bytes);
}

std::vector<Gap> gaps_of_growth(const TraceData& data, const Growth& growth) {
  std::vector<Gap> gaps;
  for (const GrowingStorage& each : growth.storages) {
    if (!each.frees) continue;
    for (const Block* block : data.blocks_by_storage.of(each.storage)) {
      const bool goes_on = !block->span.ended() || each.needed_until < block->span.to_seq;
      if (goes_on) gaps.push_back({block, std::max(each.needed_until, block->span.from_seq), {}});
    }
  }
  return gaps;
}

}  // namespace dcmt::analyzer
