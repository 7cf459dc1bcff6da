#include "collector/recorder/console/memory_curve.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dcmt::recorder {
namespace {

constexpr std::array<std::string_view, 9> kEighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::int64_t kEighthsOfARow = 8;

}  // namespace

void MemoryCurve::add(std::int64_t bytes) {
  if (highest_.empty() || calls_ == each_) {
    if (highest_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) highest_[i] = std::max(highest_[2 * i], highest_[2 * i + 1]);
      highest_.resize(kMost / 2);
      each_ *= 2;
    }
    highest_.push_back(bytes);
    calls_ = 0;
  }
  highest_.back() = std::max(highest_.back(), bytes);
  ++calls_;
}

std::vector<std::int64_t> MemoryCurve::columns(std::size_t most) const {
  if (highest_.size() <= most) return highest_;
  std::vector<std::int64_t> columns(most, 0);
  for (std::size_t i = 0; i < highest_.size(); ++i) {
    std::int64_t& column = columns[i * most / highest_.size()];
    column = std::max(column, highest_[i]);
  }
  return columns;
}

std::vector<std::string> plot(const std::vector<std::int64_t>& columns, std::size_t rows, std::int64_t top) {
  std::vector<std::string> drawn(rows);
  const auto levels = static_cast<double>(kEighthsOfARow) * static_cast<double>(rows);
  for (const std::int64_t bytes : columns) {
    const double share =
        top > 0 ? static_cast<double>(std::clamp<std::int64_t>(bytes, 0, top)) / static_cast<double>(top) : 0;
    auto level = static_cast<std::int64_t>(share * levels + 0.5);
    if (level == 0 && bytes > 0) level = 1;  // little is not nothing
    for (std::size_t row = rows; row-- > 0; level -= kEighthsOfARow) {
      drawn[row] += kEighths[static_cast<std::size_t>(std::clamp<std::int64_t>(level, 0, kEighthsOfARow))];
    }
  }
  return drawn;
}

}  // namespace dcmt::recorder
