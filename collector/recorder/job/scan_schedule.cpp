#include "collector/recorder/job/scan_schedule.h"

#include <algorithm>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

/// Of the time of a run, for readings of each scope.
constexpr double kShare = 0.005;
/// Beyond that share: a short program has its readings, too. What grows while a model is made leaves half of it for
/// the steps.
constexpr double kFree = 1, kFreeNear = 0.5, kFreeBeforeSteps = 0.25;
/// What a search of C++ memory takes, in readings of everything: 10.3 s where such a reading took 1.4 s.
constexpr double kSearch = 8;
/// Growth since the latest reading that is worth another one of everything.
constexpr double kGrownBy = 1.5;
/// Imports that take longer leave much that is new to the first reading after them.
constexpr double kLongImports = 1;
/// Time between readings of variables while the memory grows: seconds, and as a share of the time for which it has.
constexpr double kBetween = 0.02, kBetweenShare = 0.125;
/// Without growth the next reading of variables comes so much later: seconds, and as a share of the time since the
/// first.
constexpr double kQuiet = 0.5, kQuietShare = 0.3;
/// One that is due waits until so much of the peak is allocated, each for the next of these: what a step makes and
/// drops is there at one of them, and stays until that reading is over. Not every step stays at the higher ones: after
/// so long, seconds and as a share of the time since the first reading, the lowest will do, and after that time again,
/// anything.
constexpr std::array kOfPeak = {0.7, 0.97, 0.85};
constexpr double kPatience = 0.25, kPatienceShare = 0.25;
/// A program that is over sooner, or variables of a function that has returned by then, have a reading of variables.
constexpr double kFirstOfAll = 1;

bool has_grown(std::int64_t growing, std::int64_t before, double by) {
  return growing >= kFollowedBytes && static_cast<double>(growing) >= by * static_cast<double>(before);
}

}  // namespace

bool ScanSchedule::prepares(double now, const Progress& program) const {
  if (!prepared_at_) return true;
  return !program.stepped && program.has_storages && !prepared_again_ && now >= *prepared_at_ + kLongImports;
}

bool ScanSchedule::is_due(scan::Scope scope, double now, const Progress& program) const {
  const bool near = scope == scan::Scope::kVariables;
  const Readings& readings = of(scope);
  // What a reading of variables takes varies: the first one, while libraries are imported, says little of the next.
  const double expected = near ? 0 : readings.latest;
  const double free_near = program.stepped ? kFreeNear : kFreeBeforeSteps;
  if (readings.spent + expected > (near ? free_near : kFree) + kShare * now) return false;
  if (near) {
    if (prepares(now, program)) return true;
    // How long the memory grew before the first step says nothing of the steps.
    const bool is_first = program.stepped && !stepped_;
    const double next_near = is_first ? 0 : next_near_;
    const double next_quiet = is_first ? 0 : next_quiet_;
    const GrowingBytes& growing = program.growing;
    const bool grows = growing.signs >= kFollowedBytes && growing.signs != readings.growing;
    const double patience = std::max(kPatience, kPatienceShare * (now - began_.value_or(now)));
    const bool in_time = program.of_peak >= kOfPeak[quiet_ % kOfPeak.size()] ||
                         (program.of_peak >= kOfPeak.front() && now >= next_quiet + patience) ||
                         now >= next_quiet + 2 * patience;
    return now >= next_near && (grows || (program.stepped && in_time && now >= next_quiet));
  }
  return now >= next_ || (now >= kFirstOfAll && has_grown(program.growing.goes_on, readings.growing, kGrownBy));
}

bool ScanSchedule::affords_search(double now) const {
  const Readings& all = of(scan::Scope::kAll);
  return all.spent + kSearch * all.latest <= kFree + kShare * now;
}

void ScanSchedule::done(scan::Scope scope, double now, double took, const Progress& program) {
  Readings& readings = readings_[static_cast<std::size_t>(scope)];
  readings.spent += took;
  readings.latest = took;
  if (scope == scan::Scope::kVariables && prepares(now, program)) {
    prepared_again_ = prepared_at_.has_value();
    prepared_at_ = now;
    return;
  }
  const GrowingBytes& growing = program.growing;
  readings.growing = scope == scan::Scope::kAll ? growing.goes_on : growing.signs;
  if (scope == scan::Scope::kAll) {
    next_ = std::max(2 * next_, 2 * now);
  } else {
    if (program.stepped && !stepped_) {
      stepped_ = true;
      began_.reset();
      grows_from_.reset();
    }
    if (!began_) began_ = now;
    if (growing.signs < kFollowedBytes) {
      grows_from_.reset();
    } else if (!grows_from_) {
      grows_from_ = now;
    }
    next_near_ = now + std::max(kBetween, kBetweenShare * (now - grows_from_.value_or(now)));
    next_quiet_ = now + std::max(kQuiet, kQuietShare * (now - *began_));
    ++quiet_;
  }
}

}  // namespace dcmt::recorder
