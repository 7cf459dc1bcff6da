#include "analyzer/compare/lifetimes.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analyzer/storages/group_names.h"

namespace dcmt::analyzer {
namespace {

/// The ends of phases or of steps, ascending.
class Ends {
 public:
  void add(Sequence end) { ends_.push_back(end); }
  void sort() { std::ranges::sort(ends_); }
  /// The number of ends before this event.
  [[nodiscard]] std::int64_t before(Sequence at) const { return std::ranges::lower_bound(ends_, at) - ends_.begin(); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(ends_.size()); }

 private:
  std::vector<Sequence> ends_;
};

struct Bar {
  std::string_view unit;
  std::int64_t least;
  std::optional<std::int64_t> most;
};
constexpr std::string_view kPhases = LifetimeDifference::kPhases, kSteps = LifetimeDifference::kSteps;
constexpr std::array<Bar, 11> kBars{{{kPhases, 0, 0},
                                     {kPhases, 1, 1},
                                     {kPhases, 2, 3},
                                     {kPhases, 4, 7},
                                     {kPhases, 8, 15},
                                     {kPhases, 16, std::nullopt},
                                     {kSteps, 1, 1},
                                     {kSteps, 2, 3},
                                     {kSteps, 4, 7},
                                     {kSteps, 8, std::nullopt},
                                     {LifetimeDifference::kAlive, 0, std::nullopt}}};

/// Sums of one run, by bar.
struct Sums {
  std::array<LifetimeFact, kBars.size()> of{};

  Sums(const std::vector<LifetimeFact>& facts, std::int64_t from_step, std::int64_t steps) {
    for (const LifetimeFact& fact : facts) {
      if (fact.step < from_step || fact.step >= steps) continue;
      LifetimeFact& sum = of[bar_of(fact, steps)];
      sum.blocks += fact.blocks;
      sum.bytes.value += fact.bytes.value;
      sum.lived.value += fact.lived.value;
    }
  }

  [[nodiscard]] std::optional<TimeNs> mean(std::size_t bar) const {
    if (of[bar].blocks == 0 || kBars[bar].unit == LifetimeDifference::kAlive) return std::nullopt;
    return TimeNs(of[bar].lived.value / of[bar].blocks);
  }

 private:
  static std::size_t bar_of(const LifetimeFact& fact, std::int64_t steps) {
    if (fact.end_step == LifetimeFact::kAlive || fact.end_step >= steps) return kBars.size() - 1;
    const bool within = fact.end_step == fact.step;
    const std::int64_t outlived = within ? fact.phase_ends : fact.end_step - fact.step;
    const auto bar = std::ranges::find_if(kBars, [&](const Bar& each) {
      return each.unit == (within ? kPhases : kSteps) && outlived <= each.most.value_or(outlived);
    });
    return static_cast<std::size_t>(bar - kBars.begin());
  }
};

}  // namespace

std::vector<LifetimeFact> lifetime_facts(const Analysis& analysis, StringId device) {
  const TraceData& data = *analysis.data;
  if (data.has_sums_only()) return {};
  Ends steps, phases;
  for (const Step& step : analysis.releases.steps) {
    if (step.to.valid()) steps.add(step.to);
  }
  for (const Mark& mark : data.marks) {
    if (mark.kind == MarkKind::kPhase && mark.span.ended() && mark.span.from_seq != mark.span.to_seq)
      phases.add(mark.span.to_seq);
  }
  steps.sort();
  phases.sort();
  const std::int64_t all = std::max<std::int64_t>(steps.count(), 1);  // a run without steps counts as one step
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, LifetimeFact> facts;
  for (const Block& block : data.blocks) {
    if (block.device != device || is_sum_of_small_blocks(data, block)) continue;
    const Span& span = block.span;
    LifetimeFact life;
    life.step = steps.before(span.from_seq);
    if (life.step >= all) continue;
    life.end_step = span.ended() ? steps.before(span.to_seq) : LifetimeFact::kAlive;
    if (life.end_step >= all) life.end_step = LifetimeFact::kAlive;
    if (life.end_step == life.step) life.phase_ends = phases.before(span.to_seq) - phases.before(span.from_seq);
    LifetimeFact& sum = facts.try_emplace({life.step, life.end_step, life.phase_ends}, life).first->second;
    ++sum.blocks;
    sum.bytes.value += block.bytes.value;
    if (span.ended()) sum.lived.value += span.to_ns.value - span.from_ns.value;
  }
  std::vector<LifetimeFact> result;
  for (const auto& [key, fact] : facts) result.push_back(fact);
  return result;
}

bool LifetimeHistograms::differ() const { return std::ranges::any_of(bars, &LifetimeDifference::differs); }

LifetimeHistograms histograms_of(const std::vector<LifetimeFact>& before, const std::vector<LifetimeFact>& after,
                                 std::int64_t steps) {
  LifetimeHistograms histograms;
  // The first step makes what stays, such as the optimizer's state and workspaces.
  histograms.from_step = steps > 2 ? 1 : 0;
  const std::int64_t end = std::max<std::int64_t>(steps, 1);
  histograms.steps = end - histograms.from_step;
  const Sums was(before, histograms.from_step, end), is(after, histograms.from_step, end);
  for (std::size_t i = 0; i < kBars.size(); ++i) {
    if (was.of[i].blocks == 0 && is.of[i].blocks == 0) continue;
    histograms.bars.push_back({kBars[i].unit, kBars[i].least, kBars[i].most, was.of[i].blocks, is.of[i].blocks,
                               was.of[i].bytes, is.of[i].bytes, was.mean(i), is.mean(i)});
  }
  return histograms;
}

}  // namespace dcmt::analyzer
