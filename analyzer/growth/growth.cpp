#include "analyzer/growth/growth.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analyzer/storages/stacks.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// Places with the same name are one.
std::vector<GrowthSite> named_sites(const TraceData& data, const std::vector<GrowingSite>& sites) {
  std::vector<GrowthSite> named;
  for (const GrowingSite& site : sites) {
    const std::string text = describe_site(data, site.stack);
    std::optional<std::string> called_from;
    if (const FrameId caller = caller_of_package(data, site.stack); caller.valid())
      called_from = describe_frame(data, caller);
    const auto same = std::ranges::find_if(
        named, [&](const GrowthSite& each) { return each.site == text && each.called_from == called_from; });
    GrowthSite& sum = same != named.end() ? *same : named.emplace_back(GrowthSite{text, called_from, {}, 0});
    sum.bytes.value += site.bytes.value;
    sum.storages += site.storages;
  }
  std::ranges::stable_sort(named, std::greater(), &GrowthSite::bytes);
  return named;
}

}  // namespace

void HeldStorages::add(const Storage& storage, const GrowingStorage& growing) {
  storages_.push_back(growing);
  GrowingSite& site = sites_[storage.birth.stack];
  site.stack = storage.birth.stack;
  site.bytes.value += growing.bytes.value;
  ++site.storages;
  bytes_.value += growing.bytes.value;
}

void HeldStorages::add(const TraceData& data, HeldStorages&& others) {
  std::map<StorageId, std::size_t> known;
  for (std::size_t i = 0; i < storages_.size(); ++i) known.emplace(storages_[i].storage, i);
  for (const GrowingStorage& each : others.storages_) {
    const auto both = known.find(each.storage);
    if (both == known.end()) {
      add(*data.storages.find(each.storage), each);
    } else {
      GrowingStorage& storage = storages_[both->second];
      if (storage.frees && !storage.alone) shared_.value += storage.bytes.value;
      storage.alone |= storage.frees;
    }
  }
}

double HeldStorages::shared_part() const {
  return bytes_.value > 0 ? static_cast<double>(shared_.value) / static_cast<double>(bytes_.value) : 0;
}

bool HeldStorages::are_small() const {
  return std::ranges::all_of(storages_, [](const GrowingStorage& each) { return each.bytes.value < kFollowedBytes; });
}

void HeldStorages::move_to(const TraceData& data, Growth& growth) {
  growth.storages = std::move(storages_);
  std::ranges::sort(growth.storages, {}, &GrowingStorage::storage);
  growth.count = static_cast<std::int64_t>(growth.storages.size());
  if (!growth.storages.empty()) growth.example = growth.storages.back().storage;
  for (const GrowingStorage& each : growth.storages) {
    if (each.alone) growth.alone.value += each.bytes.value;
  }
  for (const auto& [stack, site] : sites_) growth.sites.push_back(site);
  std::ranges::stable_sort(growth.sites, std::greater(), &GrowingSite::bytes);
  growth.made_at = named_sites(data, growth.sites);
}

std::vector<Gap> gaps_of_growth(const TraceData& data, const Growth& growth) {
  std::vector<Gap> gaps;
  for (const auto* storages : {&growth.storages, &growth.beside}) {
    for (const GrowingStorage& each : *storages) {
      if (!each.frees) continue;
      for (const Block* block : data.blocks_by_storage.of(each.storage)) {
        const bool goes_on = !block->span.ended() || each.needed_until < block->span.to_seq;
        if (goes_on) gaps.push_back({block, std::max(each.needed_until, block->span.from_seq), {}});
      }
    }
  }
  gaps.insert(gaps.end(), growth.of_sums.begin(), growth.of_sums.end());
  return gaps;
}

std::vector<Gap> gaps_of_used(const TraceData& data, Growth growth) {
  for (auto* storages : {&growth.storages, &growth.beside}) {
    for (GrowingStorage& each : *storages) {
      const auto next = std::ranges::lower_bound(growth.used, data.storages.find(each.storage)->span.from_seq);
      if (next != growth.used.end()) each.needed_until = std::max(each.needed_until, *next);
    }
  }
  return gaps_of_growth(data, growth);
}

}  // namespace dcmt::analyzer
