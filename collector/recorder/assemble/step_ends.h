// Finds the storages that have outlived their step, by the records at which steps ended.
#pragma once

#include <cstdint>
#include <utility>

namespace dcmt::recorder {

/// Thread-safety: none.
class StepEnds {
 public:
  /// A step ended with this record.
  void ended(std::int64_t seq) {
    if (first_ == 0) first_ = seq;
    before_ = std::exchange(latest_, seq);
  }

  /// A live object that began after the record `from`, and not after `to`, has outlived its step and the next one. The
  /// first step is excluded: it makes what a program keeps permanently.
  struct Outlived {
    std::int64_t from = 0, to = 0;
  };
  [[nodiscard]] Outlived outlived() const { return {first_, before_}; }
  /// True if, for some steps' worth of records, none has ended: an evaluation after the training.
  /// @param steps  that have ended
  [[nodiscard]] bool have_ceased(std::int64_t seq, std::int64_t steps) const {
    constexpr std::int64_t kPause = 4;
    return steps > 1 && seq - latest_ > kPause * ((latest_ - first_) / (steps - 1));
  }
  /// The record at which the latest step ended; 0: none has ended.
  [[nodiscard]] std::int64_t latest() const { return latest_; }

 private:
  std::int64_t first_ = 0;   ///< at the first step; 0: none has ended
  std::int64_t before_ = 0;  ///< at the step before the latest one
  std::int64_t latest_ = 0;
};

}  // namespace dcmt::recorder
