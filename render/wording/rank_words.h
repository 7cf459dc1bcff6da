// Ranks and what differs between runs, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/difference.h"
#include "analyzer/ranks/rank_comparison.h"

namespace dcmt::wording {

/// "rank 1", "ranks 0 to 3".
[[nodiscard]] std::string ranks_name(const analyzer::Ranks& ranks);
/// "graph 0 id 7", "layers.0.weight (FSDP2)".
[[nodiscard]] std::string key_text(const analyzer::RankComparison& comparison, const analyzer::Key& key);
/// "graph 0 ids 0 to 11", "layers.0.weight, layers.1.weight and 6 more (FSDP2)".
[[nodiscard]] std::string keys_text(const analyzer::RankComparison& comparison, std::int64_t graph,
                                    const std::vector<std::int64_t>& keys);
/// "step 3, gather 2".
[[nodiscard]] std::string where_of(const analyzer::RankComparison& comparison, std::int64_t step, std::size_t position);
/// "freed by its releases".
[[nodiscard]] std::string_view fate_text(analyzer::Fate fate);
/// How the operators of two runs differ: "12 operators in one order, the same bytes after each".
[[nodiscard]] std::string order_sentence(const analyzer::OrderDifference& order);

}  // namespace dcmt::wording
