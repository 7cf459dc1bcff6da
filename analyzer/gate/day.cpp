#include "analyzer/gate/day.h"

#include <charconv>
#include <chrono>

namespace dcmt::gate {
namespace {

/// Only digits, so no sign.
std::optional<int> number(std::string_view digits) {
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

std::optional<std::int64_t> day_of(std::string_view date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return std::nullopt;
  const std::optional<int> year = number(date.substr(0, 4));
  const std::optional<int> month = number(date.substr(5, 2));
  const std::optional<int> day = number(date.substr(8));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day known{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                          std::chrono::day(static_cast<unsigned>(*day))};
  if (!known.ok()) return std::nullopt;
  return std::chrono::sys_days(known).time_since_epoch().count();
}

}  // namespace dcmt::gate
