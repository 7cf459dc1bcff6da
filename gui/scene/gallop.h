// A search that begins near where the last one ended, for questions that come in order.
#pragma once

#include <algorithm>

namespace dcmt::gui::scene {

/// The first in [from, end) of which `before` is not true, looked for near `from`.
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

}  // namespace dcmt::gui::scene
