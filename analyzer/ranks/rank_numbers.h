// Gives graphs and parameters the same numbers on all ranks, so that keys of different ranks can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/ranks/rank_facts.h"

namespace dcmt::analyzer {

/// Meaning as in the members of RankComparison with the same names.
struct CommonNumbers {
  std::vector<std::int64_t> graphs_by_order;
  std::vector<std::vector<std::int64_t>> graphs;
  std::size_t keys_without_graph = 0;
};

/// Changes the keys in the ranks' gathers, parameters and names.
CommonNumbers give_common_numbers(std::vector<RankFacts>& ranks);

}  // namespace dcmt::analyzer
