// Detects growing memory while it grows: counts the storages of each place that made them, on the clock of the
// program's work.
//
// It only decides when reading the process's memory is worth its cost. Verdicts are the analyzer's
// (analyzer/rules/growing_sites.h).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/tables/point.h"

namespace dcmt::recorder {

/// Bytes of storages, by how certain it is that the program keeps more and more of them.
struct GrowingBytes {
  std::int64_t signs = 0;    ///< the number at a place has doubled, by births between which the program did other work
  std::int64_t goes_on = 0;  ///< it has doubled once more
};

/// Thread-safety: none.
class GrowthWatch {
 public:
  /// A storage that was made at this stack begins or ends.
  void begins(RowId stack, std::int64_t bytes);
  void ends(RowId stack, std::int64_t bytes);
  /// A place whose storages have not become more for as long as they had before, has stopped growing: parameters,
  /// gradients and an optimizer's state are made one after the other, too. Only the end of a step shows that: a program
  /// without steps may keep what it has made.
  void step_ended();
  /// Small blocks, whose storages are not tracked, have become fewer.
  void small_blocks_ended() { ++work_; }

  /// Bytes of the places whose storages become more and more.
  [[nodiscard]] GrowingBytes growing() const { return growing_; }

 private:
  struct Site {
    std::int64_t bytes = 0;
    std::int64_t alive = 0;
    std::int64_t births = 0;  ///< those between which storages, small blocks or steps ended
    std::int64_t work = -1;   ///< at the latest of these
    std::int64_t before = 0;  ///< alive when it doubled last; made together at first
    int doubled = 0;
    std::int64_t high = 0;               ///< most that were alive
    std::int64_t from = 0, high_at = 0;  ///< work at the first birth, and when `high` was reached
    bool stopped = false;                ///< it does not grow any longer
    bool is_listed = false;              ///< in growing_sites_
  };

  void change(Site& site, std::int64_t bytes);
  void count(const Site& site, int sign);

  std::unordered_map<RowId, Site> sites_;
  std::vector<Site*> growing_sites_;  ///< those that have doubled, and have not stopped
  std::int64_t next_check_ = 0;       ///< work
  std::int64_t work_ = 0;             ///< storages, small blocks and steps that have ended
  GrowingBytes growing_;
};

}  // namespace dcmt::recorder
