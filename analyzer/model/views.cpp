#include "analyzer/model/views.h"

#include <algorithm>

#include "analyzer/time/named_point.h"
#include "trace/sql/kept.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;

/// The nearest points before and after an interval without rows at which the trace has what is alive.
std::string nearest_windows(const TraceData& data, const analyzer::Interval& interval) {
  std::string before;
  for (const analyzer::Interval& other : data.intervals) {
    if (other.kept == Kept::kNo) continue;
    if (other.span.from_seq < interval.span.from_seq) {
      before = " What was alive is known before it: --at " + std::to_string(other.span.to_seq.value);
    } else {
      const std::string lead = before.empty() ? " What was alive is known after it" : before + ", and after it";
      return lead + ": --at " + std::to_string(other.span.from_seq.value + 1) + ".";
    }
  }
  return before.empty() ? before : before + ".";
}

}  // namespace

ReleasesView releases_view(const std::string& path, const Analysis& analysis) {
  ReleasesView view{path, analysis.facts.rank, releases_of(*analysis.data, analysis.releases),
                    cycles_of(*analysis.data, analysis.releases)};
  for (const analyzer::Cycle& cycle : analysis.releases.cycles) {
    const bool final = std::ranges::any_of(cycle.releases, [](const auto* row) { return row->mark->flags.final; });
    view.persistent_cycles += cycle.persistent ? 1 : 0;
    view.open_cycles += !final && !cycle.persistent ? 1 : 0;
  }
  return view;
}

PeakView peak_view(const std::string& path, const Analysis& analysis) {
  PeakView view{path, analysis.facts.rank, peak_of(analysis), {}};
  for (const analyzer::DeviceAnalysis& device : analysis.devices) {
    if (&device != &analysis.main()) view.others.push_back(device_peak_of(analysis, device));
  }
  return view;
}

Expected<Sequence> point_named(const std::string& path, const Analysis& analysis, const std::string& at) {
  const TraceData& data = *analysis.data;
  DCMT_ASSIGN_OR_RETURN(const Sequence seq,
                        analyzer::named_point(data, path, at, analysis.main().what_if.measured.seq, "--at takes"));
  if (const analyzer::Interval* interval = data.sums_only_at(seq); interval != nullptr) {
    return Error{ErrorCode::kUsage, path + ": what was alive at '" + at +
                                        "' was not kept, only sums of that part of the run." +
                                        nearest_windows(data, *interval)};
  }
  return seq;
}

Expected<LiveView> live_view(const std::string& path, const Analysis& analysis, const std::string& at,
                             bool any_device) {
  const TraceData& data = *analysis.data;
  DCMT_ASSIGN_OR_RETURN(const Sequence seq, point_named(path, analysis, at));
  const analyzer::OutOfMemory* oom = analyzer::out_of_memory_at(data, seq);
  const StringId device = oom != nullptr && any_device ? oom->device : analysis.main().device;
  LiveView view{path,
                analysis.facts.rank,
                text_of(data, device),
                seq,
                at,
                LiveSet(&data, &analysis.phases, device, seq),
                number_of(analyzer::step_at(analysis.releases.steps, seq)),
                {}};
  if (const analyzer::Mark* phase = analysis.phases.at(seq)) view.phase = data.text(phase->name);
  return view;
}

}  // namespace dcmt::model
