#include "analyzer/replay/replay_cycles.h"

#include <algorithm>
#include <map>

namespace dcmt::analyzer {

ReplayCycles::ReplayCycles(const Analysis& analysis, const ReplayRegion& region)
    : analysis_(analysis), region_(region) {
  find_pools();
  find_gathers_that_recycle();
}

std::vector<const Cycle*> ReplayCycles::in_order() const {
  std::vector<const Cycle*> cycles;
  for (const Cycle& cycle : analysis_.releases.cycles) {
    if (touches_region(cycle)) cycles.push_back(&cycle);
  }
  std::sort(cycles.begin(), cycles.end(),
            [](const Cycle* a, const Cycle* b) { return a->gather->span.from_seq < b->gather->span.from_seq; });
  return cycles;
}

StringId ReplayCycles::device() const {
  for (const Cycle& cycle : analysis_.releases.cycles) {
    const Block* block = block_of(*given_by(cycle));
    if (block != nullptr && region_.has(cycle.gather->span.from_seq)) return block->device;
  }
  return analysis_.main().device;
}

const Mark* ReplayCycles::given_by(const Cycle& cycle) {
  for (const Mark* wait : cycle.waits) {
    if (wait->storage.valid() && wait->storage != cycle.gather->storage) return wait;
  }
  return cycle.gather;
}

const Block* ReplayCycles::block_of(const Mark& given) const {
  for (const Block* block : analysis_.data->blocks_by_storage.of(given.storage)) {
    if (block->span.covers(given.span.from_seq)) return block;
  }
  return nullptr;
}

/// Finds buffers that several keys were gathered into.
void ReplayCycles::find_pools() {
  std::map<StorageId, Key> first;
  for (const Cycle& cycle : analysis_.releases.cycles) {
    const auto [key, fresh] = first.try_emplace(cycle.gather->storage, cycle.key());
    if (!fresh && key->second != cycle.key()) pools_.insert(pool_of(*cycle.gather));
  }
}

/// Finds gathers after the region that show how a pool reuses a buffer that was released in the region.
void ReplayCycles::find_gathers_that_recycle() {
  if (region_.steps.empty()) return;
  for (const ReleaseRow& row : analysis_.releases.rows) {
    if (row.verdict != Verdict::kRecycled || !region_.has(row.mark->span.from_seq)) continue;
    const Sequence again = analysis_.data->storage_changes.given_after(row.mark->storage, row.at());
    if (again >= region_.to) recycle_.insert(again);
  }
}

bool ReplayCycles::touches_region(const Cycle& cycle) const {
  const auto inside = [&](const Mark* mark) { return region_.has(mark->span.from_seq); };
  if (inside(cycle.gather)) return true;
  if (cycle.gather->span.from_seq >= region_.to) return recycle_.contains(cycle.gather->span.from_seq);
  return std::any_of(cycle.waits.begin(), cycle.waits.end(), inside) ||
         std::any_of(cycle.releases.begin(), cycle.releases.end(), [&](const ReleaseRow* row) {
           return inside(row->mark) || std::any_of(row->reads().begin(), row->reads().end(), inside);
         });
}

}  // namespace dcmt::analyzer
