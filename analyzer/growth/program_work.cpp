#include "analyzer/growth/program_work.h"

#include <algorithm>
#include <iterator>

#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

ProgramWork::ProgramWork(const TraceData& data) {
  for (const Step& step : steps_of(data)) {
    if (step.to.valid()) ends_.emplace_back(step.to_ns, (ends_.empty() ? 0 : ends_.back().second) + step.count);
  }
  if (!ends_.empty()) latest_ = last_step_ = ends_.back().first;
  if (!data.memory.samples.empty()) latest_ = std::max(latest_, data.memory.samples.back().ns);
  for (const Scan& scan : data.owners.scans) {
    if (scan.ended) noted_.push_back(scan.ns);
  }
}

bool ProgramWork::may_have_ended(TimeNs at) const {
  return std::ranges::any_of(noted_,
                             [&](TimeNs noted) { return static_cast<double>(noted.value - at.value) * 1e-9 < kAtEnd; });
}

std::int64_t ProgramWork::steps_by(TimeNs at) const {
  const auto after = std::ranges::upper_bound(ends_, at, {}, &std::pair<TimeNs, std::int64_t>::first);
  return after == ends_.begin() ? 0 : std::prev(after)->second;
}

}  // namespace dcmt::analyzer
