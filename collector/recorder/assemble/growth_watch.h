// Whether the program's memory grows: storages by the place where they were made, counted at the end of each step.
//
// It only says when reading the process's memory is worth its cost. Verdicts are the analyzer's.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/sql/rows.h"

namespace dcmt::recorder {

/// Of storages, by how sure it is that more and more of them are kept.
struct GrowingBytes {
  std::int64_t signs = 0;    ///< two rounds in a row ended with more
  std::int64_t goes_on = 0;  ///< four, as of what the first rounds make for good
};

/// Thread-safety: none.
class GrowthWatch {
 public:
  /// A storage begins or ends that was made at this stack.
  void begins(RowId stack, std::int64_t bytes) { change(stack, bytes); }
  void ends(RowId stack, std::int64_t bytes) { change(stack, -bytes); }
  /// A step, or what stands for one, ended.
  void round();

  /// Bytes made at places that had more alive at the end of each of the last rounds in which they changed.
  [[nodiscard]] GrowingBytes growing() const { return growing_; }

 private:
  struct Site {
    std::int64_t bytes = 0;
    std::int64_t last = 0;   ///< at the end of the round before
    std::int64_t rises = 0;  ///< rounds in a row that ended with more
    bool changed = false;
  };

  void change(RowId stack, std::int64_t bytes);
  void count(const Site& site, std::int64_t times);

  std::unordered_map<RowId, Site> sites_;
  std::vector<RowId> changed_;
  GrowingBytes growing_;
};

}  // namespace dcmt::recorder
