// Places of C and C++ of whose allocations more and more are alive, by a sample of them (`--native`). The rule of
// growth is that of collections of objects. Not growth: what is freed again, a cache that stops, memory that is used
// again, and what the error of the sample may explain.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/growth/native_growth.h"
#include "analyzer/growth/object_growth.h"
#include "analyzer/growth/program_work.h"
#include "analyzer/rules/rules.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// Smaller growth is not reported: in bytes, and as a share of the resident memory.
constexpr double kLeastNative = 2.0 * (1 << 20), kLeastNativeShare = 0.005;
/// Part of the run, from the end of its imports, through which a place must have grown.
constexpr double kLeastOfNativeRun = 0.4;
/// Growth is more than the error of the sample: in standard errors.
constexpr double kSure = 2;
/// A series of more points is thinned out.
constexpr std::size_t kMostNativePoints = 400;

double seconds_between(TimeNs from, TimeNs to) { return static_cast<double>(to.value - from.value) * 1e-9; }

/// The bytes that lost records may have left alive: each may be the end of a sampled allocation.
double lost_bytes(const TraceData& data) {
  double records = 0;
  for (const Loss& loss : data.losses) records += static_cast<double>(loss.count);
  return records * static_cast<double>(data.meta_integer(meta::kNativeInterval).value_or(0));
}

/// The part of the run that is judged.
struct JudgedRun {
  TimeNs begin, end;
};

JudgedRun judged_run(const TraceData& data, const ProgramWork& work) {
  JudgedRun run;
  run.begin = run.end = data.native.live.front().ns;
  for (const NativeLive& each : data.native.live) {
    if (each.ns < work.last_step() || !work.may_have_ended(each.ns)) run.end = each.ns;
  }
  for (const Scan& scan : data.owners.scans) {
    if (scan.importing && scan.to < run.end) run.begin = std::max(run.begin, scan.to);
  }
  return run;
}

std::optional<NativeGrowth> native_growth_of(const TraceData& data, const ProgramWork& work, const JudgedRun& run,
                                             const NativeSeries& series) {
  std::vector<NativePoint> points;
  std::ranges::copy_if(series.points, std::back_inserter(points),
                       [&](const NativePoint& point) { return point.ns >= run.begin && point.ns <= run.end; });
  if (points.size() < 2) return {};
  points.push_back(points.back());
  points.back().ns = run.end;  // nothing has changed since
  points.back().least = points.back().bytes;
  const bool by_steps = work.steps(run.begin, run.end) >= kFewestWorkSteps;
  const auto between = [&](TimeNs from, TimeNs to) {
    return by_steps ? work.steps(from, to) : seconds_between(from, to);
  };
  const NativePoint &first = points.front(), &last = points.back();
  const double rounds = between(first.ns, last.ns), grown = last.bytes - first.bytes;
  if (rounds <= 0 || rounds < kLeastOfNativeRun * between(run.begin, run.end)) return {};
  std::vector<EntriesAt> readings;
  const std::size_t stride = points.size() / kMostNativePoints + 1;
  // What is freed and made again between two points has not been kept: the least since the point before counts.
  double least = first.bytes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i != 0) least = std::min(least, points[i].least);
    if (i % stride != 0 && i + 1 != points.size()) continue;
    readings.push_back({between(first.ns, points[i].ns), least});
    least = points[i].bytes;
  }
  if (!keeps_growing(readings)) return {};
  const double resident = data.memory.samples.empty() ? 0 : static_cast<double>(data.memory.samples.back().all().value);
  if (grown < std::max(kLeastNative, kLeastNativeShare * resident)) return {};
  if (grown < kSure * std::sqrt(last.variance + first.variance) + lost_bytes(data)) return {};

  NativeGrowth growth;
  growth.place = series.place;
  growth.of_objects = series.of_objects;
  growth.live = native_estimate(last.bytes, last.variance, last.samples);
  growth.before = Bytes(static_cast<std::int64_t>(first.bytes));
  growth.per_round = Bytes(static_cast<std::int64_t>(grown / rounds));
  growth.made = Bytes(static_cast<std::int64_t>(last.made));
  growth.unit = by_steps ? "step" : "second";
  growth.rounds = static_cast<std::int64_t>(rounds + 0.5);
  return growth;
}

}  // namespace

namespace rules {

std::vector<Finding> grows_native(const TraceData& data, const Releases&) {
  if (data.native.live.empty()) return {};
  const ProgramWork work(data);
  const JudgedRun run = judged_run(data, work);
  std::vector<Finding> findings;
  for (const NativeSeries& series : native_series(data)) {
    std::optional<NativeGrowth> growth = native_growth_of(data, work, run, series);
    if (!growth) continue;
    Finding finding;
    finding.rule = "grows_native";
    finding.title = "grows";
    finding.bytes = growth->live.bytes;
    finding.confidence = Confidence::kPartial;
    finding.why = "every part of the run leaves more of what it allocates there alive";
    finding.fix = "free it when it is no longer needed, or give what keeps it a limit";
    finding.native = std::move(growth);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
