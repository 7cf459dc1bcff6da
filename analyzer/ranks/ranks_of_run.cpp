#include "analyzer/ranks/ranks_of_run.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "trace/base/shell_words.h"

namespace dcmt::analyzer {

void RanksOfRun::add(const Analysis& analysis) {
  ++processes_;
  for (const DeviceAnalysis& device : analysis.devices) {
    if (device.device.valid() && analysis.data->text(device.device) == "cpu")
      most_on_cpu_.value += device.what_if.measured.bytes.value;
  }
  if (analysis.facts.rank < 0) return;
  events_.push_back(rank_events(*analysis.data));
  ranks_.push_back(rank_facts(analysis));
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

std::string RanksOfRun::folders() const {
  std::set<std::string> folders;
  for (const RankFacts& rank : ranks_) folders.insert(std::filesystem::path(rank.path).parent_path().string());
  folders.erase("");
  std::string text;
  for (const std::string& folder : folders) text += (text.empty() ? "" : " ") + shell_word(folder);
  return text.empty() ? "." : text;
}

}  // namespace dcmt::analyzer
