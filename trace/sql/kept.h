// The column interval.kept: why the trace has the rows of an interval.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace dcmt {

/// kNo: the trace has only the sums of the interval.
enum class Kept : std::uint8_t { kNo, kAll, kSteps, kEvery, kPeak, kFinding, kLast };

/// In the order of Kept; kNo is written as NULL.
inline constexpr std::string_view kKeptTexts[] = {"", "all", "steps", "every", "peak", "finding", "last"};

/// The text in the column; empty for kNo.
[[nodiscard]] constexpr std::string_view text_of(Kept kept) { return kKeptTexts[static_cast<std::size_t>(kept)]; }

/// kNo for an invalid text.
[[nodiscard]] constexpr Kept kept_of(std::string_view text) {
  const auto* const known = std::find(std::begin(kKeptTexts), std::end(kKeptTexts), text);
  return known != std::end(kKeptTexts) ? static_cast<Kept>(known - kKeptTexts) : Kept::kNo;
}

}  // namespace dcmt
