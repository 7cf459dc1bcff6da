#include "collector/recorder/job/scan_schedule.h"

#include <algorithm>

#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

/// Of the time of a run.
constexpr double kShare = 0.01;
/// Beyond that share: a short program has its readings, too.
constexpr double kFree = 1.5;
/// Growth since the latest reading that is worth another one.
constexpr double kGrownBy = 1.5;

}  // namespace

bool ScanSchedule::is_due(double now, std::int64_t growing) const {
  if (spent_ + latest_ > kFree + kShare * now) return false;
  const bool grown =
      growing >= kFollowedBytes && static_cast<double>(growing) >= kGrownBy * static_cast<double>(growing_);
  return grown || now >= next_;
}

void ScanSchedule::done(double now, double took, std::int64_t growing) {
  spent_ += took;
  latest_ = took;
  growing_ = growing;
  next_ = std::max(2 * next_, 2 * now);
}

}  // namespace dcmt::recorder
