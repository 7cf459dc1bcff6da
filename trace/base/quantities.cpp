#include "trace/base/quantities.h"

#include <array>
#include <charconv>

namespace dcmt {

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string exact_bytes(std::int64_t bytes) { return grouped(bytes) + " B"; }

std::string rounded_bytes(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes > -1024 && bytes < 1024) return exact_bytes(bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; (value >= 1023.95 || value <= -1023.95) && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::fixed, 1).ptr;
  return std::string(digits.data(), end).append(" ").append(kUnits[unit]);
}

std::string counted(std::int64_t number, std::string_view singular, std::string_view plural) {
  if (number == 1) return std::string("1 ").append(singular);
  std::string text = grouped(number) + " ";
  return plural.empty() ? text.append(singular).append("s") : text.append(plural);
}

}  // namespace dcmt
