#include "render/scene/round_bytes.h"

#include <initializer_list>

namespace dcmt::scene {

std::int64_t round_bytes(std::int64_t least) {
  if (least > (std::int64_t{1} << 60)) return least;  // the next round number may not fit into the type
  std::int64_t unit = 1;
  while (unit < (std::int64_t{1} << 50) && least > unit * 1024) unit *= 1024;
  for (std::int64_t ten = 1;; ten *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      // 500 is followed by one of the next unit, not by a thousand.
      if (factor * ten == 1000) return 1024 * unit;
      if (factor * ten * unit >= least) return factor * ten * unit;
    }
  }
}

}  // namespace dcmt::scene
