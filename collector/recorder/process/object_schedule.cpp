#include "collector/recorder/process/object_schedule.h"

#include <utility>

namespace dcmt::recorder {
namespace {

/// Growth that is worth a reading; bytes.
constexpr double kWorthVariables = 1 << 20, kWorthAll = 8 << 20;
/// As a share of the growth so far: then the readings of any run are spread over its growth.
constexpr double kWorthShare = 0.25;
/// Readings that explain nothing double what is worth the next one, at most so often.
constexpr int kMostDoublings = 10;
/// Without growth of the memory, which freed memory can hide: this factor of the time, beginning with the first second.
constexpr double kQuietFactor = 1.3, kQuietFrom = 1;
/// Least time between readings: in seconds, and as a share of the time.
constexpr double kBetweenCounts = 0.1, kBetweenCountsShare = 0.05;
/// The same while the program imports.
constexpr double kBetweenImports = 0.25;
/// Share of the run's time for readings of variables, and extra time for short runs; seconds. Readings of everything
/// have no extra time: only a run that is long enough for several of them can have a verdict from them.
constexpr double kShareOfVariables = 0.0025, kFreeVariables = 0.3, kShareOfAll = 0.004;

/// Growth is judged from four readings or more. The program waits for the last one of everything, so that one must be
/// of use.
constexpr int kFewestBefore = 3;

}  // namespace

void ObjectSchedule::see(std::int64_t outside) {
  base_ = has_seen_ ? std::min(base_, outside) : outside;
  outside_ = outside;
  has_seen_ = true;
}

double ObjectSchedule::worth(scan::Scope scope) const {
  const double all = kWorthShare * static_cast<double>(grown());
  if (scope == scan::Scope::kAll) return std::max(kWorthAll, all);
  const double in_vain = kWorthVariables * static_cast<double>(1 << std::min(in_vain_, kMostDoublings));
  const double of_explained = kWorthShare * static_cast<double>(std::max(explained_, explained_before_));
  return std::max({kWorthVariables, of_explained, std::min(in_vain, all)});
}

bool ObjectSchedule::is_due(scan::Scope scope, double now) const {
  const bool is_all = scope == scan::Scope::kAll;
  const Readings& readings = of(scope);
  // What a reading of variables costs does not predict the next: imports lead to ten times as many objects.
  const double expected = is_all ? readings.latest : 0;
  const double share = is_all ? kShareOfAll * now : kFreeVariables + kShareOfVariables * now;
  if (!has_seen_ || readings.spent + expected > share) return false;
  const double between =
      std::max(was_importing_ && !is_all ? kBetweenImports : kBetweenCounts, kBetweenCountsShare * now);
  if (now < readings.at + between) return false;
  if (is_all && static_cast<double>(unexplained()) < kWorthAll) return false;
  const std::int64_t since = outside_ - std::max(readings.outside, base_);
  const bool is_quiet = !is_all && now >= std::max(kQuietFrom, kQuietFactor * readings.at);
  return is_quiet || static_cast<double>(since) >= worth(scope);
}

bool ObjectSchedule::wants_last(scan::Scope scope) const {
  if (scope == scan::Scope::kVariables) return static_cast<double>(grown()) >= kWorthVariables;
  return static_cast<double>(unexplained()) >= kWorthAll && of(scope).count >= kFewestBefore;
}

void ObjectSchedule::done(scan::Scope scope, double at, double took, const scan::Census& found) {
  Readings& readings = of(scope);
  // On a busy machine imports last long. The share is for what comes after them.
  if (!found.importing) readings.spent += took;
  if (took > 0) readings.latest = took;
  readings.at = at;
  ++readings.count;
  readings.outside = readings.began_outside;
  if (scope == scan::Scope::kAll) return;
  was_importing_ = found.importing;
  if (was_importing_) {
    base_ = outside_;
    return;
  }
  explained_before_ = std::exchange(explained_, 0);
  for (const scan::Collection& each : found.collections) {
    const auto bytes = static_cast<std::int64_t>(each.bytes);
    const auto first = first_bytes_.try_emplace(each.path, bytes).first;
    explained_ = std::max(explained_, bytes - first->second);
  }
  in_vain_ = unexplained() > 0 ? in_vain_ + 1 : 0;
}

}  // namespace dcmt::recorder
