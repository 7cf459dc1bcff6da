// Counts and numbers come from untrusted records: damaged ones must not overflow sums.
#pragma once

#include <cstdint>
#include <limits>

namespace dcmt::recorder {

/// `sum` + `more`, or the largest number on overflow.
/// @param more  not below 0
[[nodiscard]] constexpr std::int64_t saturating_sum(std::int64_t sum, std::int64_t more) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return sum > kMost - more ? kMost : sum + more;
}

}  // namespace dcmt::recorder
