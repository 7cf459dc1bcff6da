// Finds sizes of small blocks of which the program keeps more and more. These blocks are not tracked one by one, but
// the bytes of all blocks of a size can be read at any time (docs/decisions/detail.md).
//
// It only decides which sizes are worth tracking. Verdicts are the analyzer's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {

/// Bytes of blocks that are not tracked: at the end of a step, or now if the program makes no steps (any more).
struct SmallBlocksThen {
  std::int64_t rounds = 0;  ///< steps that have ended
  std::int64_t bytes = 0;   ///< of all devices
};

/// Live bytes of each class of sizes (trace/base/followed_bytes.h).
using BytesBySize = std::array<std::int64_t, kSizeClasses>;

/// Times are seconds since the process made its first tensor. Thread-safety: none.
class SmallGrowth {
 public:
  /// True if reading the sizes is worth its cost: the small blocks have grown since the last reading.
  [[nodiscard]] bool is_due(double now, const SmallBlocksThen& then) const;
  /// Processes a reading. Returns the classes to track from now on that were not tracked before.
  std::vector<std::size_t> add_reading(double now, const SmallBlocksThen& then, const BytesBySize& live);
  /// The sizes could not be read: there is no further reading.
  void give_up() { gave_up_ = true; }

 private:
  struct Size {
    std::int64_t last = 0;   ///< bytes at the previous reading
    std::int64_t rises = 0;  ///< consecutive readings with growth
    bool followed = false;
  };

  std::array<Size, kSizeClasses> sizes_;
  /// True if a reading before `then` can be compared with one then: not across the end of the first step.
  [[nodiscard]] bool has_reading(const SmallBlocksThen& then) const {
    return has_reading_ && had_steps_ == (then.rounds != 0);
  }

  std::size_t followed_ = 0;
  bool has_reading_ = false, had_steps_ = false;
  bool gave_up_ = false;
  std::int64_t last_bytes_ = 0;
  double next_ = 0;
};

}  // namespace dcmt::recorder
