// Selects the cycles of a run that a replay plays: those that touch its region, and those that show how buffers end.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_region.h"

namespace dcmt::analyzer {

/// `analysis` and `region` must outlive this object. Thread-safe after construction.
class ReplayCycles {
 public:
  ReplayCycles(const Analysis& analysis, const ReplayRegion& region);

  /// In the order of their gathers.
  [[nodiscard]] std::vector<const Cycle*> in_order() const;
  /// The device of the gathered storages; if there are none, the main device.
  [[nodiscard]] StringId device() const;
  /// True if later gathers reused buffers like this gather's. All cycles of such a pool are played, with the same
  /// operator. Else they would not form the pool.
  [[nodiscard]] bool of_pool(const Mark& gather) const { return pools_.contains(pool_of(gather)); }

  /// The mark that gave the storage. A gather may give an empty one, which the wait fills.
  [[nodiscard]] static const Mark* given_by(const Cycle& cycle);
  /// The block that the storage had at that mark; nullptr if unknown.
  [[nodiscard]] const Block* block_of(const Mark& given) const;

 private:
  /// The common properties of a pool's buffers, as in reuse.cpp.
  using Pool = std::tuple<std::int64_t, StringId, Bytes>;
  static Pool pool_of(const Mark& gather) { return {gather.key->graph, gather.name, gather.bytes.value_or(Bytes())}; }

  void find_pools();
  void find_gathers_that_recycle();
  [[nodiscard]] bool touches_region(const Cycle& cycle) const;

  const Analysis& analysis_;
  const ReplayRegion& region_;
  std::set<Pool> pools_;
  std::set<Sequence> recycle_;  ///< sequences of gathers
};

}  // namespace dcmt::analyzer
