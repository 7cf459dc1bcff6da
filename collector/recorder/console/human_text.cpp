#include "collector/recorder/console/human_text.h"

#include <fmt/format.h>

namespace dcmt::recorder {

std::string human_count(std::int64_t n) {
  const auto value = static_cast<double>(n);
  if (n < 10'000) return fmt::format("{}", n);
  return n < 1'000'000 ? fmt::format("{:.1f} k", value / 1e3) : fmt::format("{:.1f} M", value / 1e6);
}

}  // namespace dcmt::recorder
