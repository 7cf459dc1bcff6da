#include "collector/recorder/keep/retention_policy.h"

#include <algorithm>

namespace dcmt::recorder {
namespace {

/// Share of the disk bound; the indexes of the finish and the last steps need the rest.
constexpr double kRegularUpTo = 0.8;
constexpr double kWindowsUpTo = 0.9;
/// Above this share, the size is read after fewer rows.
constexpr double kCarefulFrom = 0.8;
constexpr double kFullFrom = 0.95;
constexpr double kOverFrom = 0.97;
constexpr double kMergeStep = 0.005;
constexpr std::int64_t kMostMerged = std::int64_t{1} << 30;

/// A peak that rises slowly must not make every step a window. The highest one is kept at the end in any case.
constexpr double kNewPeak = 1.01;
/// Limit of windows for the same problem of a key; further ones are only counted.
constexpr int kTimesShown = 3;

}  // namespace

bool RetentionPolicy::asked_for(std::int64_t step) const {
  return std::any_of(options_.steps.begin(), options_.steps.end(),
                     [&](const StepRange& range) { return range.first <= step && step <= range.last; });
}

Kept RetentionPolicy::beforehand(std::int64_t step) const {
  if (everything_) return Kept::kAll;
  if (options_.only_living) return Kept::kNo;
  if (options_.steps.empty() && used_less_than(options_.everything_up_to)) return Kept::kAll;
  if (asked_for(step) && used_less_than(kWindowsUpTo)) return Kept::kSteps;
  if (options_.every > 0 && step % options_.every == 0 && used_less_than(kRegularUpTo)) return Kept::kEvery;
  return Kept::kNo;
}

Kept RetentionPolicy::afterwards(std::optional<std::int64_t> step, std::int64_t peak) const {
  if (options_.only_living || !used_less_than(kWindowsUpTo)) return Kept::kNo;
  if (step && asked_for(*step)) return Kept::kSteps;
  if (new_finding_) return Kept::kFinding;
  if (static_cast<double>(peak) > kNewPeak * static_cast<double>(kept_peak_)) return Kept::kPeak;
  return Kept::kNo;
}

bool RetentionPolicy::full() const { return !everything_ && !used_less_than(kFullFrom); }

std::size_t RetentionPolicy::batch_rows(std::size_t usual) const {
  const std::int64_t share = used_less_than(kCarefulFrom) ? 5'000 : 200'000;
  return std::min(usual, static_cast<std::size_t>(options_.max_disk / share));
}

bool RetentionPolicy::over() const { return !everything_ && !used_less_than(kOverFrom); }

void RetentionPolicy::kept(std::int64_t peak) { kept_peak_ = std::max(kept_peak_, peak); }

void RetentionPolicy::see_finding(FindingKind kind, std::int64_t graph, std::int64_t key) {
  Shown& shown = findings_[{kind, graph, key}];
  if (shown.in == stretch_ || shown.times >= kTimesShown) return;
  ++shown.times;
  shown.in = stretch_;
  new_finding_ = true;
}

std::int64_t RetentionPolicy::merged() const {
  std::int64_t together = 1;
  for (int steps = 0; !used_less_than(kWindowsUpTo + steps * kMergeStep) && together < kMostMerged; ++steps) {
    together *= 2;
  }
  return together;
}

}  // namespace dcmt::recorder
