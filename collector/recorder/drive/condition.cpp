#include "collector/recorder/drive/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "trace/base/printable.h"
#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

constexpr std::array<std::pair<std::string_view, Counted>, 3> kCounted{
    {{"allocated", Counted::kAllocated}, {"reserved", Counted::kReserved}, {"rss", Counted::kResident}}};
/// Limit: no machine has more.
constexpr double kMostBytes = 1e18;

void skip_blanks(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

bool consume(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  skip_blanks(text);
  return true;
}

/// The factor of a unit; nothing if the text is not a unit.
std::optional<double> unit_of(std::string_view text) {
  std::string unit(text);
  while (unit.ends_with(' ')) unit.pop_back();
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (unit.empty() || unit == "b") return 1;
  const std::size_t power = std::string_view("kmgt").find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(unit).substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib") return std::nullopt;
  double bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= rest == "b" ? 1000 : 1024;
  return bytes;
}

}  // namespace

Expected<Condition> parse_condition(const std::string& text) {
  const Error wrong{ErrorCode::kUsage,
                    fmt::format("'{}' is no condition like 'allocated > 70GiB': allocated, reserved or rss; > or >=; a "
                                "size",
                                printable(text))};
  std::string_view rest = text;
  skip_blanks(rest);
  Condition condition;
  const auto counted = std::ranges::find_if(kCounted, [&](const auto& each) { return consume(rest, each.first); });
  if (counted == kCounted.end()) return wrong;
  condition.what = counted->second;
  condition.or_equal = consume(rest, ">=");
  if (!condition.or_equal && !consume(rest, ">")) return wrong;
  double number = 0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (failure != std::errc()) return wrong;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  skip_blanks(rest);
  const std::optional<double> unit = unit_of(rest);
  // The comparison is also false for NaN.
  if (!unit || !(number * *unit >= 1 && number * *unit <= kMostBytes)) return wrong;
  condition.bytes = static_cast<std::int64_t>(number * *unit);
  return condition;
}

std::string name_of(Counted what) {
  return std::string(std::ranges::find(kCounted, what, [](const auto& each) { return each.second; })->first);
}

std::string text_of(const Condition& condition) {
  return fmt::format("{} {} {}", name_of(condition.what), condition.or_equal ? ">=" : ">",
                     rounded_bytes(condition.bytes));
}

}  // namespace dcmt::recorder
