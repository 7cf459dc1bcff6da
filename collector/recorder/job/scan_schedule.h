// When the recorder reads the memory of a process: early where the memory grows, seldom else, and never for more than a
// hundredth of the run, after what the first readings cost.
#pragma once

#include <cstdint>

namespace dcmt::recorder {

/// Times are seconds since the process made its first tensor. Thread-safety: none.
class ScanSchedule {
 public:
  /// @param growing  bytes of storages at places that keep more and more
  [[nodiscard]] bool is_due(double now, std::int64_t growing) const;
  /// A reading that was begun at `now` and took so many seconds of a core is over.
  void done(double now, double took, std::int64_t growing);

 private:
  double spent_ = 0;
  double latest_ = 0;  ///< what the latest took
  double next_ = 10;
  std::int64_t growing_ = 0;  ///< at the latest
};

}  // namespace dcmt::recorder
