// Which sizes of small blocks the program keeps more and more of. They are not followed one by one, but what all of
// them have is known by their sizes whenever somebody looks (docs/adr/0034).
//
// It only says what is worth following. Verdicts are the analyzer's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {

/// What a process has in blocks that are not followed, as of the end of a step: without steps nothing is judged.
struct SmallBlocksThen {
  std::int64_t rounds = 0;  ///< steps that have ended
  std::int64_t bytes = 0;   ///< of all devices
};

/// Live bytes of each class of sizes (trace/base/followed_bytes.h).
using BytesBySize = std::array<std::int64_t, kSizeClasses>;

/// Times are seconds since the process made its first tensor. Thread-safety: none.
class SmallGrowth {
 public:
  /// Whether a look at the sizes is worth its cost: the small blocks have become more since the last one.
  [[nodiscard]] bool is_due(double now, const SmallBlocksThen& then) const;
  /// What a look has found. Returns the classes that are to be followed from now on, and were not.
  std::vector<std::size_t> looked(double now, const SmallBlocksThen& then, const BytesBySize& live);
  /// Nothing could be read: there is no other look.
  void give_up() { gave_up_ = true; }

 private:
  struct Size {
    std::int64_t last = 0;   ///< bytes at the look before
    std::int64_t rises = 0;  ///< looks in a row that found more
    bool followed = false;
  };

  std::array<Size, kSizeClasses> sizes_;
  std::size_t followed_ = 0;
  bool looked_ = false;
  bool gave_up_ = false;
  std::int64_t last_bytes_ = 0;
  double next_ = 0;
};

}  // namespace dcmt::recorder
