// What a container has kept in small storages from before storages of their size were tracked.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// What containers hold of the sums of small blocks, where their tracked storages are small, too: storages of that size
/// were tracked only once they had become more and more. What stays of the sums until the reading shows how much of it
/// was there before.
class SmallBefore {
 public:
  /// @param until  the end of the growth
  SmallBefore(const TraceData& data, StringId device, Sequence until);

  void add(const Container& container) { of_containers_ += container.small.value; }
  /// After all such containers have been added.
  [[nodiscard]] std::vector<Gap> gaps(const Container& container) const;

 private:
  struct Sum {
    const Block* block;
    std::int64_t stays;  ///< bytes: the least from then on
  };

  const TraceData& data_;
  std::vector<Sum> sums_;  ///< in order
  std::int64_t of_containers_ = 0;
};

}  // namespace dcmt::analyzer
