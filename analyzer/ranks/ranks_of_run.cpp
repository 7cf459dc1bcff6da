#include "analyzer/ranks/ranks_of_run.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "trace/base/shell_words.h"
#include "trace/sql/limits.h"

namespace dcmt::analyzer {

void RanksOfRun::add(RankSummary summary) {
  ++processes_;
  for (const RankPeak& peak : summary.facts.devices) {
    if (peak.device == "cpu") most_on_cpu_.value = std::min(kLargest, most_on_cpu_.value + peak.bytes.value);
  }
  if (summary.facts.rank < 0) return;
  events_.push_back(std::move(summary.events));
  ranks_.push_back(std::move(summary.facts));
}

std::optional<RankClocks> RanksOfRun::clocks() const {
  if (events_.size() < 2) return std::nullopt;
  std::optional<RankClocks> clocks;
  for (const RankClock& clock : align_ranks(events_)) {
    if (clock.by == AlignedBy::kItself) continue;
    if (clock.by != AlignedBy::kEvents) return RankClocks{false, 0, 0, {}};
    const auto steps = static_cast<std::int64_t>(clock.steps);
    const auto collectives = static_cast<std::int64_t>(clock.collectives);
    if (!clocks) clocks = RankClocks{true, steps, collectives, {}};
    clocks->steps = std::min(clocks->steps, steps);
    clocks->collectives = std::min(clocks->collectives, collectives);
    clocks->error = std::max(clocks->error, TimeNs(clock.error_ns));
  }
  return clocks;
}

std::optional<RankComparison> RanksOfRun::difference() const {
  if (ranks_.size() < 2) return std::nullopt;
  Expected<RankComparison> comparison = compare_ranks(ranks_);
  if (!comparison.ok() || !comparison->differs()) return std::nullopt;
  return std::move(*comparison);
}

Expected<RankComparison> RanksOfRun::compare() && { return compare_ranks(std::move(ranks_)); }

std::string RanksOfRun::folders() const {
  std::set<std::string> folders;
  for (const RankFacts& rank : ranks_) folders.insert(std::filesystem::path(rank.path).parent_path().string());
  folders.erase("");
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : " ") + shell_word(folder);
  return text.empty() ? "." : text;
}

}  // namespace dcmt::analyzer
