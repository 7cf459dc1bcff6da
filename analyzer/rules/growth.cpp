#include "analyzer/rules/growth.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analyzer/storages/group_names.h"
#include "analyzer/storages/live_set.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// Limits the sums of a damaged trace.
constexpr double kMostSmall = 2;  // times the bytes of the storages with rows

}  // namespace

void HeldStorages::add(const Storage& storage, const GrowingStorage& growing) {
  storages_.push_back(growing);
  GrowingSite& site = sites_[storage.birth.stack];
  site.stack = storage.birth.stack;
  site.bytes.value += growing.bytes.value;
  ++site.storages;
  bytes_.value += growing.bytes.value;
}

void HeldStorages::add_small(const TraceData& data, const Container& container, double there) {
  const Scan* scan = data.owners.scan(container.small_scan);
  double then = 0;  // bytes that ended with it alone at the reading
  for (const GrowingStorage& each : storages_) {
    const Held* held = data.owners.of(each.storage);
    const Storage* storage = data.storages.find(each.storage);
    const bool was_there = scan != nullptr && storage != nullptr && storage->span.from_seq <= scan->from;
    const bool counts = was_there && each.alone && held != nullptr && !held->otherwise && held->containers.size() == 1;
    if (counts) then += static_cast<double>(each.bytes.value);
  }
  if (then == 0) return;
  const double small = std::min(static_cast<double>(container.small.value), kMostSmall * then);
  double alone = 0;
  for (const GrowingStorage& each : storages_) alone += each.alone ? static_cast<double>(each.bytes.value) : 0;
  // Most storages may have been made after the reading. Together they have no more than there is.
  const double share = there > 0 ? std::min(small / then, there / std::max(1.0, alone)) : small / then;
  for (GrowingStorage& each : storages_) {
    if (each.alone) each.small = Bytes(static_cast<std::int64_t>(share * static_cast<double>(each.bytes.value)));
  }
}

bool HeldStorages::are_small() const {
  return std::ranges::all_of(storages_, [](const GrowingStorage& each) { return each.bytes.value < kFollowedBytes; });
}

void HeldStorages::move_to(Growth& growth) {
  growth.storages = std::move(storages_);
  std::ranges::sort(growth.storages, {}, &GrowingStorage::storage);
  for (const GrowingStorage& each : growth.storages) {
    if (each.alone) growth.alone.value += each.bytes.value;
  }
  for (const auto& [stack, site] : sites_) growth.sites.push_back(site);
  std::ranges::stable_sort(growth.sites, std::greater(), &GrowingSite::bytes);
}

double small_bytes_at(const TraceData& data, Sequence at) {
  double bytes = 0;
  for (const StringId device : devices_of(data)) {
    for (const Block* block : live_blocks(data, device, at)) {
      if (is_sum_of_small_blocks(data, *block)) bytes += static_cast<double>(block->bytes.value);
    }
  }
  return bytes;
}

std::vector<Gap> gaps_of_growth(const TraceData& data, const Growth& growth) {
  std::vector<Gap> gaps;
  for (const auto* storages : {&growth.storages, &growth.beside}) {
    for (const GrowingStorage& each : *storages) {
      if (!each.frees) continue;
      for (const Block* block : data.blocks_by_storage.of(each.storage)) {
        const bool goes_on = !block->span.ended() || each.needed_until < block->span.to_seq;
        if (goes_on) gaps.push_back({block, std::max(each.needed_until, block->span.from_seq), {}, each.small});
      }
    }
  }
  gaps.insert(gaps.end(), growth.of_sums.begin(), growth.of_sums.end());
  return gaps;
}

}  // namespace dcmt::analyzer
