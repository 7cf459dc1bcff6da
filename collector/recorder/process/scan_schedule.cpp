#include "collector/recorder/process/scan_schedule.h"

#include <algorithm>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

/// Share of the run's time for readings of each scope.
constexpr double kShare = 0.005;
/// Extra time, so that a short program has readings, too. Growth while a model is made may use half of it; the rest is
/// for the steps.
constexpr double kFree = 1, kFreeNear = 0.5, kFreeBeforeSteps = 0.25;
/// Growth since the latest reading of everything that is worth another one.
constexpr double kGrownBy = 1.5;
/// After longer imports, the first reading has much new memory to read.
constexpr double kLongImports = 1;
/// Time between readings of variables while memory grows: in seconds, and as a share of the time of growth.
constexpr double kBetween = 0.02, kBetweenShare = 0.125;
/// So much later, in seconds, if the program is held for readings at times: it may be held now.
constexpr double kInsteadOfHold = 0.05;
/// Time until the next reading of variables without growth: in seconds, and as a share of the time since the first.
constexpr double kQuiet = 0.5, kQuietShare = 0.3;
/// A due reading waits until this share of the peak is allocated; successive readings use successive shares. Objects
/// that a step makes and drops exist at one of them, until that reading is over. Some steps never stay at the higher
/// shares: after the following time, in seconds and as a share of the time since the first reading, the lowest share is
/// enough; after twice that time, any.
constexpr std::array kOfPeak = {0.7, 0.97, 0.85};
constexpr double kPatience = 0.25, kPatienceShare = 0.25;
/// Growth that goes on for this time has everything read. What a model, its gradients and its optimizer are made of
/// grows for less; a program that ends earlier has readings of variables.
constexpr double kLasting = 1;

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
  // The cost of readings of variables varies: the first one, during imports, does not predict the next.
  const double expected = near ? 0 : readings.latest;
  const double free_near = program.stepped ? kFreeNear : kFreeBeforeSteps;
  if (readings.spent + expected > (near ? free_near : kFree) + kShare * now) return false;
  if (near) {
    if (prepares(now, program)) return true;
    // Growth before the first step does not predict growth in the steps.
    const bool is_first = program.stepped && !stepped_;
    const double next_near = is_first ? 0 : next_near_;
    const double next_quiet = is_first ? 0 : next_quiet_;
    const GrowingBytes& growing = program.growing;
    // A held program is read at its own points while it grows, unless it has none any more: its holds have a limit.
    const double next_growing = next_near + (program.held ? kInsteadOfHold : 0);
    const bool grows = now >= next_growing && growing.signs >= kFollowedBytes && growing.signs != readings.growing;
    const double patience = std::max(kPatience, kPatienceShare * (now - began_.value_or(now)));
    const bool in_time = program.of_peak >= kOfPeak[quiet_ % kOfPeak.size()] ||
                         (program.of_peak >= kOfPeak.front() && now >= next_quiet + patience) ||
                         now >= next_quiet + 2 * patience;
    return grows || (now >= next_near && program.stepped && in_time && now >= next_quiet);
  }
  return now >= next_ ||
         (program.growing_for >= kLasting && has_grown(program.growing.goes_on, readings.growing, kGrownBy));
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
