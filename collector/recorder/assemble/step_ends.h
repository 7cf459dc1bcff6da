// Which storages have outlived their step, by the records with which steps ended.
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

  /// What is alive now and began after the record `from`, and not after `to`, has outlived its step and the next one.
  /// The first step makes what a program keeps for good.
  struct Outlived {
    std::int64_t from = 0, to = 0;
  };
  [[nodiscard]] Outlived outlived() const { return {first_, before_}; }
  /// The record with which the latest step ended; 0: none has.
  [[nodiscard]] std::int64_t latest() const { return latest_; }

 private:
  std::int64_t first_ = 0;   ///< of the first step; 0: none has ended
  std::int64_t before_ = 0;  ///< of the step before the latest
  std::int64_t latest_ = 0;
};

}  // namespace dcmt::recorder
