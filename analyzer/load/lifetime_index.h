// Finds the blocks that are alive at a point in time without a scan of all of them.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "trace/base/typed_id.h"

namespace dcmt::analyzer {

struct Block;

/// Blocks in the order of their begins. The index has the latest end of each 64 consecutive blocks, of each 64 such
/// groups, and so on. A search reads only the groups that reach the point. Needs an eighth of a byte per block.
/// Thread-safety: const after construction.
class LifetimeIndex {
 public:
  using Entry = std::pair<Sequence, const Block*>;  ///< begin and block

  LifetimeIndex() = default;
  /// `by_begin` must outlive it.
  explicit LifetimeIndex(std::span<const Entry> by_begin);

  /// The blocks that cover `at`, by id.
  [[nodiscard]] std::vector<const Block*> at(Sequence at) const;

 private:
  void collect(std::size_t level, std::size_t node, Sequence at, std::vector<const Block*>& found) const;

  std::span<const Entry> by_begin_;
  std::vector<std::vector<Sequence>> latest_ends_;  ///< by level, the finest first
};

}  // namespace dcmt::analyzer
