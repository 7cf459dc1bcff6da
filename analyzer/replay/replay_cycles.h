// Which cycles of a run a replay plays: those that touch its region, and those that show what becomes of its buffers.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_region.h"

namespace dcmt::analyzer {

/// `analysis` and `region` must outlive it. Thread-safe once it is made.
class ReplayCycles {
 public:
  ReplayCycles(const Analysis& analysis, const ReplayRegion& region);

  /// By their gathers.
  [[nodiscard]] std::vector<const Cycle*> in_order() const;
  /// That of the gathered storages; without any, the main one.
  [[nodiscard]] StringId device() const;
  /// True if buffers as this gather's went from key to key. All of them are played as they are, by the same operator,
  /// or they would be none of the pool.
  [[nodiscard]] bool of_pool(const Mark& gather) const { return pools_.contains(pool_of(gather)); }

  /// The mark that gave the storage: a gather may give an empty one and leave the rest to the wait.
  [[nodiscard]] static const Mark* given_by(const Cycle& cycle);
  /// The block that the storage had then; nullptr if none is known.
  [[nodiscard]] const Block* block_of(const Mark& given) const;

 private:
  /// What the buffers of a pool have in common, as reuse.cpp has it.
  using Pool = std::tuple<std::int64_t, StringId, Bytes>;
  static Pool pool_of(const Mark& gather) { return {gather.key->graph, gather.name, gather.bytes.value_or(Bytes())}; }

  void find_pools();
  void find_gathers_that_recycle();
  [[nodiscard]] bool touches_region(const Cycle& cycle) const;

  const Analysis& analysis_;
  const ReplayRegion& region_;
  std::set<Pool> pools_;
  std::set<Sequence> recycle_;  ///< gathers
};

}  // namespace dcmt::analyzer
