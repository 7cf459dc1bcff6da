#include "render/wording/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "trace/base/code_path.h"

namespace dcmt::wording {

std::string percent(double share, int digits) { return fmt::format("{:.{}f} %", share * 100, digits); }

std::string signed_bytes(std::int64_t bytes) { return (bytes > 0 ? "+" : "") + exact_bytes(bytes); }

std::string duration(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} µs", value * 1e-3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", value * 1e-6);
  return fmt::format("{:.1f} s", value * 1e-9);
}

std::string durations(TimeNs shortest, TimeNs longest) {
  return shortest == longest ? duration(longest.value)
                             : fmt::format("{} to {}", duration(shortest.value), duration(longest.value));
}

std::string cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  // Do not cut within a UTF-8 character.
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0u) == 0x80u) --longest;
  return std::string(text.substr(0, longest)) + "…";
}

std::string shown_path(std::string_view path) {
  constexpr std::size_t kHash = 32;  // letters and digits; no person gives a file such a name
  constexpr std::size_t kShown = 8;
  std::string text(short_path(path));
  const std::size_t name = text.rfind('/') + 1;  // 0 if there is no folder
  const std::size_t end = std::min(text.find('.', name), text.size());
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto at = [&](std::size_t position) { return text.begin() + static_cast<std::ptrdiff_t>(position); };
  if (end - name >= kHash && std::all_of(at(name), at(end), plain)) text.replace(at(name + kShown), at(end), "…");
  return text;
}

std::string ranges(std::vector<std::int64_t> numbers) {
  constexpr std::size_t kMost = 8;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> parts;
  std::size_t listed = 0;  // numbers in all parts except the last one that a long list shows
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (j == i + 1) j = i;  // two consecutive numbers are no range
    parts.push_back(std::to_string(numbers[i]) + (j > i ? " to " + std::to_string(numbers[j]) : ""));
    i = j + 1;
    if (parts.size() < kMost) listed = i;
  }
  if (parts.size() <= kMost) return fmt::format("{}", fmt::join(parts, ", "));
  parts.resize(kMost - 1);
  return fmt::format("{} and {} more up to {}", fmt::join(parts, ", "), numbers.size() - listed, numbers.back());
}

std::string steps_text(const std::vector<std::int64_t>& steps) {
  if (steps.empty()) return {};
  return (steps.size() == 1 ? "step " : "steps ") + ranges(steps);
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

}  // namespace dcmt::wording
