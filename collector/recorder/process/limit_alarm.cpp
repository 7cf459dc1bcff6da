#include "collector/recorder/process/limit_alarm.h"

#include <algorithm>

#include "collector/recorder/process/own_clock.h"

namespace dcmt::recorder {
namespace {

constexpr std::int64_t kBetweenLooks = 20'000'000;  // ns
constexpr double kNear = 0.88, kLevel = 0.02;       // shares of the limit

}  // namespace

int LimitAlarm::level_of(const CgroupUse& use, std::int64_t limit) {
  const auto needed = static_cast<double>(use.used - std::min(use.used, use.file));
  const double nearer = needed / static_cast<double>(std::max<std::int64_t>(limit, 1)) - kNear;
  return nearer < 0 ? 0 : 1 + static_cast<int>(nearer / kLevel);
}

bool LimitAlarm::rings() {
  const std::optional<std::int64_t> limit = cgroup_.limit();
  const std::int64_t now = now_ns();
  if (!limit || now < next_ns_) return false;
  next_ns_ = now + kBetweenLooks;
  // Most often one small file is enough.
  const std::optional<std::int64_t> used = cgroup_.used();
  const bool may_be_near = used && level_of({.used = *used}, *limit) > 0;
  const std::optional<CgroupUse> use = may_be_near ? cgroup_.use() : std::nullopt;
  const int before = level_;
  level_ = use ? level_of(*use, *limit) : 0;
  return level_ > before;
}

}  // namespace dcmt::recorder
