#include "analyzer/rules/duplicate.h"

namespace dcmt::analyzer {

std::vector<Gap> gaps_of_duplicate(const TraceData& data, const Duplicate& duplicate) {
  std::vector<Gap> gaps;
  for (const TwiceAlive& each : duplicate.twice) {
    for (const Block* block : data.blocks_by_storage.of(each.storage)) gaps.push_back({block, each.since, {}});
  }
  return gaps;
}

}  // namespace dcmt::analyzer
