#include "analyzer/gate/allowance.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace dcmt::gate {

std::optional<Allowance> Allowance::named(const std::string& text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"", 1},          {"B", 1},      {"KiB", 1 << 10},  {"MiB", 1 << 20},
      {"GiB", 1 << 30}, {"KB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}};
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr double kMost = 1e15;
  if (error != std::errc() || !(number >= 0 && number < kMost)) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (unit == "%") return Allowance{0, number / 100};
  for (const auto& [name, bytes] : kUnits) {
    if (unit == name) return Allowance{static_cast<std::int64_t>(number * static_cast<double>(bytes)), 0};
  }
  return std::nullopt;
}

std::int64_t Allowance::of(std::int64_t value, const Section& section) const {
  std::int64_t base = value;
  for (const BaselineFact& fact : section.facts) {
    if (value == 0 && fact.name.starts_with("peak.")) base = std::max(base, fact.value);
  }
  return bytes + static_cast<std::int64_t>(share * static_cast<double>(base));
}

void allow(Section& section, const Allowance& allowance) {
  for (BaselineFact& fact : section.facts) {
    if (fact.unit == Unit::kBytes) fact.tolerance = std::max(fact.tolerance, allowance.of(fact.value, section));
  }
}

}  // namespace dcmt::gate
