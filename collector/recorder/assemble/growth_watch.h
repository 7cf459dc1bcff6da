// Detects growing memory: counts storages by the place that made them, at the end of each step.
//
// It only decides when reading the process's memory is worth its cost. Verdicts are the analyzer's.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/tables/point.h"

namespace dcmt::recorder {

/// Bytes of storages, by how certain it is that the program keeps more and more of them.
struct GrowingBytes {
  std::int64_t signs = 0;    ///< two rounds in a row ended with more
  std::int64_t goes_on = 0;  ///< four rounds in a row, since the first rounds make what stays
};

/// Thread-safety: none.
class GrowthWatch {
 public:
  /// A storage that was made at this stack begins or ends.
  void begins(RowId stack, std::int64_t bytes) { change(stack, bytes); }
  void ends(RowId stack, std::int64_t bytes) { change(stack, -bytes); }
  /// A step has ended, or a time that counts as one.
  void round();

  /// Bytes from places that had more alive at the end of each of the last rounds in which they changed.
  [[nodiscard]] GrowingBytes growing() const { return growing_; }

 private:
  struct Site {
    std::int64_t bytes = 0;
    std::int64_t last = 0;   ///< at the end of the previous round
    std::int64_t rises = 0;  ///< consecutive rounds that ended with more
    bool changed = false;
  };

  void change(RowId stack, std::int64_t bytes);
  void count(const Site& site, std::int64_t times);

  std::unordered_map<RowId, Site> sites_;
  std::vector<RowId> changed_;
  GrowingBytes growing_;
};

}  // namespace dcmt::recorder
