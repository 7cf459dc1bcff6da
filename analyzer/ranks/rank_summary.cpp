#include "analyzer/ranks/rank_summary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace dcmt::analyzer {
namespace {

/// 256 ranks with this many gathers fit into half of 512 MiB.
constexpr std::size_t kMostGathers = 8'192;
constexpr std::int64_t kMostSteps = 512;

bool about_training(const Finding& finding) { return !finding.aside(); }

void keep_last_gathers(RankFacts& facts) {
  std::size_t gathers = 0;
  auto first = facts.steps.end();
  while (first != facts.steps.begin() && gathers + std::prev(first)->gathers.size() <= kMostGathers) {
    gathers += (--first)->gathers.size();
  }
  facts.steps_left_out = first - facts.steps.begin();
  facts.steps.erase(facts.steps.begin(), first);
}

/// Keeps every second, fourth, eighth ... step, so that ranks with runs of different length have steps in common.
void thin_times(RankEvents& events) {
  constexpr std::int64_t kAfterTheLast = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (const auto& [key, times] : events.times) {
    if (key.first != kAfterTheLast) last = std::max(last, key.first);
  }
  std::int64_t stride = 1;
  while (last / stride > kMostSteps) stride *= 2;
  std::erase_if(events.times, [&](const auto& entry) {
    return entry.first.first % stride != 0 || entry.first.first == kAfterTheLast;
  });
}

}  // namespace

RankSummary rank_summary(const Analysis& analysis) {
  return {rank_facts(analysis), rank_events(*analysis.data), std::ranges::any_of(analysis.findings, about_training)};
}

void bound(RankSummary& summary) {
  keep_last_gathers(summary.facts);
  if (summary.events.times.size() > static_cast<std::size_t>(kMostSteps)) thin_times(summary.events);
}

}  // namespace dcmt::analyzer
