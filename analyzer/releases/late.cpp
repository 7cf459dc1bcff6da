#include "analyzer/releases/late.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/releases/what_if.h"
#include "analyzer/time/step_peaks.h"

namespace dcmt::analyzer {
namespace {

/// A peak that is raised by less than this part counts as equal.
constexpr std::int64_t kShareOfPeak = 100;

/// The threads of which a late free is the training's own: an engine's thread that runs a backward frees what the
/// graph has kept, and says nothing about itself.
std::set<ThreadId> training_threads(const TraceData& data) {
  std::set<ThreadId> threads;
  for (const Mark& mark : data.marks) {
    if (mark.gives_storage() || mark.kind == MarkKind::kRelease) threads.insert(mark.by.thread);
  }
  for (const Operator& op : data.operators) {
    if (op.scope == OperatorScope::kBackward) threads.insert(op.thread);
  }
  return threads;
}

TimeNs usual_length(const std::vector<Step>& steps) {
  std::vector<std::int64_t> lengths;
  for (const Step& step : steps) {
    if (step.to.valid())
      lengths.push_back((step.to_ns.value - step.from_ns.value) / std::max<std::int64_t>(1, step.count));
  }
  if (lengths.empty()) return {};
  const auto middle = lengths.begin() + std::ssize(lengths) / 2;
  std::nth_element(lengths.begin(), middle, lengths.end());
  return TimeNs(*middle);
}

bool went_soon(const ReleaseRow& row, TimeNs step) {
  if (row.step == nullptr || !row.step->to.valid() || row.gone->seq() <= row.step->to) return true;
  return row.gone->ns().value - row.at_ns().value <= step.value / 2;
}

bool is_raised(Bytes measured, Bytes without) { return measured.value - without.value > measured.value / kShareOfPeak; }

/// True if most steps would have a lower peak without the gaps. What delays a free now and then says nothing.
bool raise_most_peaks(const TraceData& data, const Releases& releases, StringId device, const std::vector<Gap>& gaps) {
  std::int64_t kept = 0, raised = 0;
  for (const StepPeak& step : step_peaks(data, releases.steps, device, gaps)) {
    if (!step.kept()) continue;
    ++kept;
    raised += is_raised(step.peak, *step.predicted_peak) ? 1 : 0;
  }
  if (kept == 0) return is_raised(peak_of(data, device).bytes, peak_of(data, device, gaps).bytes);
  return 2 * raised > kept;
}

}  // namespace

void judge_late(const TraceData& data, Releases& releases) {
  const auto may_be_late = [](const ReleaseRow& row) {
    return row.residual && row.gone && row.reads().empty() && row.gone->actor().thread != kNoThread;
  };
  if (std::none_of(releases.rows.begin(), releases.rows.end(), may_be_late)) return;
  const std::set<ThreadId> training = training_threads(data);
  const TimeNs step = usual_length(releases.steps);
  std::map<StringId, std::vector<ReleaseRow*>> by_device;
  for (ReleaseRow& row : releases.rows) {
    if (!may_be_late(row) || training.contains(row.gone->actor().thread) || !went_soon(row, step)) continue;
    by_device[device_of(data, row.mark->storage)].push_back(&row);
  }
  for (const auto& [device, rows] : by_device) {
    const std::vector<Gap> gaps = gaps_at_release(data, std::vector<const ReleaseRow*>(rows.begin(), rows.end()));
    const bool raise = raise_most_peaks(data, releases, device, gaps_on(device, gaps));
    for (ReleaseRow* row : rows) {
      row->verdict = Verdict::kLate;
      row->residual = raise;
      row->let_go_by = row->gone->actor().thread;
    }
  }
}

std::vector<const ReleaseRow*> late_releases(const Releases& releases) {
  std::vector<const ReleaseRow*> late;
  for (const ReleaseRow& row : releases.rows) {
    if (row.let_go_by != kNoThread) late.push_back(&row);
  }
  return late;
}

std::string describe_thread(const TraceData& data, ThreadId id) {
  const auto thread =
      std::find_if(data.threads.begin(), data.threads.end(), [&](const Thread& each) { return each.id == id; });
  if (thread == data.threads.end()) return "another thread";
  const std::string name(data.text(thread->name));
  if (name.empty()) return "thread " + std::to_string(thread->tid);
  // torch calls its threads "pt_", the part that makes them, "_", and what they do.
  const std::size_t part = name.starts_with("pt_") ? name.find('_', 3) : std::string::npos;
  const std::string of = part == std::string::npos ? "" : ", of torch's " + name.substr(3, part - 3);
  return name + " (thread " + std::to_string(thread->tid) + of + ")";
}

}  // namespace dcmt::analyzer
