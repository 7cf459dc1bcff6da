// A search that begins near the last result, for queries in ascending order.
#pragma once

#include <algorithm>

namespace dcmt::scene {

/// The first index in [from, end) for which `before` is false. The search begins near `from`.
template <class Index, class Before>
Index gallop(Index from, Index end, const Before& before) {
  Index step = 1;
  Index low = from;
  while (low < end && before(low)) {
    from = low + 1;
    low = end - low > step ? low + step : end;
    step *= 2;
  }
  for (Index high = low; from < high;) {
    const Index middle = from + (high - from) / 2;
    if (before(middle)) {
      from = middle + 1;
    } else {
      high = middle;
    }
  }
  return from;
}

}  // namespace dcmt::scene
