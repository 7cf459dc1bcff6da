#include "gui/scene/bytes_text.h"

#include <array>
#include <cstdio>

namespace dcmt::gui::scene {

void write_bytes(std::int64_t bytes, std::string& text) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::array<char, 40> out{};
  auto scaled = static_cast<double>(bytes);
  std::size_t unit = 0;
  while ((scaled >= 1024 || scaled <= -1024) && unit + 1 < kUnits.size()) {
    scaled /= 1024;
    ++unit;
  }
  std::snprintf(out.data(), out.size(), unit == 0 ? "%.0f %s" : "%.1f %s", scaled, kUnits[unit]);
  text.assign(out.data());
}

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

}  // namespace dcmt::gui::scene
