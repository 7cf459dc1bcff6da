// Differences between ranks as tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"
#include "cli/text.h"
#include "render/wording/rank_words.h"

namespace dcmt::cli {

using wording::fate_text;
using wording::key_text;
using wording::keys_text;
using wording::ranks_name;
using wording::where_of;

/// Peaks, releases and steps of all ranks.
[[nodiscard]] std::string rank_table(const analyzer::RankComparison& comparison, const Style& style);
/// The following tables show one kind of difference each. They may only be called if there is such a difference.
[[nodiscard]] std::string order_table(const analyzer::RankComparison& comparison, const Style& style);
[[nodiscard]] std::string parameter_table(const analyzer::RankComparison& comparison, const Style& style);
[[nodiscard]] std::string residual_table(const analyzer::RankComparison& comparison, const Style& style);
[[nodiscard]] std::string finding_table(const analyzer::RankComparison& comparison, const Style& style);
[[nodiscard]] std::string memory_table(const analyzer::RankComparison& comparison, const Style& style);

/// "14.0 MiB on rank 1; 4.5 MiB on ranks 0, 2".
[[nodiscard]] std::string peaks_text(const analyzer::MemoryDifference& memory);
/// "and 3 more rows; all of them: --json"; empty if all rows are shown.
[[nodiscard]] std::string more_text(std::size_t rows, std::string_view what);

/// The maximum of rows in a table, and of entries in a list.
inline constexpr std::size_t kMostRankRows = 20;

}  // namespace dcmt::cli
