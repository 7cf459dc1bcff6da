// Dates as in baselines and command lines: "2026-11-25".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dcmt::gate {

/// Days since 1970-01-01. nullopt: the text is not a date, or there is no such day.
[[nodiscard]] std::optional<std::int64_t> day_of(std::string_view date);

}  // namespace dcmt::gate
