#include "analyzer/model/reserved_view.h"

#include <algorithm>
#include <iterator>

#include "analyzer/allocator/variables.h"
#include "analyzer/devices/streams.h"
#include "analyzer/model/views.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/time/timeline.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

constexpr std::size_t kMostKept = 10;

/// What torch counted itself at an error, or at the peak.
std::optional<Bytes> counted_at(const TraceData& data, const analyzer::ReservedAt& reserved, bool is_peak) {
  for (const analyzer::OutOfMemory& oom : data.out_of_memory) {
    if (oom.seq == reserved.at && oom.device == reserved.device) return oom.reserved;
  }
  if (!is_peak) return std::nullopt;
  for (const analyzer::DevicePeaks& peaks : data.device_peaks) {
    if (peaks.device == reserved.device) return peaks.reserved;
  }
  return std::nullopt;
}

Expected<ReservedIf> predicted_if(const analyzer::AllocatorRequests& requests, const std::string& text) {
  ReservedIf prediction;
  prediction.settings = analyzer::joined_settings(requests.settings_text, text);
  DCMT_ASSIGN_OR_RETURN(const analyzer::AllocatorSettings settings,
                        analyzer::settings_for(requests, prediction.settings));
  const analyzer::ModelPrediction predicted = analyzer::predict_reserved(requests, settings);
  prediction.reserved_peak = Bytes(predicted.reserved_peak);
  prediction.allocated_peak = Bytes(predicted.allocated_peak);
  prediction.runs_out = predicted.runs_out;
  prediction.refused = predicted.refused;
  prediction.refused_fits = predicted.refused_fits;
  prediction.idle = analyzer::idle_settings(requests, prediction.settings);
  return prediction;
}

}  // namespace

Expected<ReservedView> reserved_view(const std::string& path, const analyzer::Analysis& analysis, const std::string& at,
                                     const std::vector<std::string>& ifs) {
  const TraceData& data = *analysis.data;
  StringId device = analysis.main().device;
  if (at.starts_with("oom")) {
    DCMT_ASSIGN_OR_RETURN(const Sequence seq, point_named(path, analysis, at));
    if (const analyzer::OutOfMemory* oom = analyzer::out_of_memory_at(data, seq)) device = oom->device;
  }
  if (!analyzer::has_segments(data, device)) {
    return Error{ErrorCode::kUsage,
                 path +
                     ": this trace does not say what a GPU's allocator had reserved. dc-memtrace run --detail full "
                     "records it"};
  }
  const Sequence peak = analyzer::reserved_peak(data, device);
  Sequence seq = peak;
  if (at != "peak") {
    DCMT_ASSIGN_OR_RETURN(seq, point_named(path, analysis, at));
  }
  const analyzer::ReservedAt reserved = analyzer::reserved_at(data, device, seq);
  ReservedView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  view.device = text_of(data, device);
  view.at = at;
  view.at_seq = seq;
  view.reserved = reserved.reserved;
  view.counted = counted_at(data, reserved, at == "peak");
  if (reserved.stream) view.stream = *reserved.stream;
  view.largest_free = reserved.largest_free;
  view.rows = reserved.rows;
  view.step = number_of(analyzer::step_at(analysis.releases.steps, seq));
  view.kept_segments = static_cast<std::int64_t>(reserved.held.size());
  view.kept = analyzer::kept_segments(data, analyzer::HolderNames(data), reserved, kMostKept);
  view.reserved_peak = seq == peak ? reserved.reserved : analyzer::reserved_at(data, device, peak).reserved;

  for (const analyzer::Finding& finding : analysis.findings) {
    if (!finding.fragmentation || finding.device != device) continue;
    std::ranges::copy_if(finding.fragmentation->remedies, std::back_inserter(view.remedies), &analyzer::Remedy::helps);
  }
  const analyzer::AllocatorRequests requests = analyzer::requests_of(data, device);
  if (requests.listed.valid()) {
    view.settings = requests.settings_text;
    view.idle = analyzer::unread_variables(data.meta_text(meta::kAllocatorVariables), requests.settings_text);
  }
  const analyzer::ModelledRun run = analyzer::modelled(requests);
  view.model = run.check;
  if (!run.can_predict()) {
    view.not_modelled = run.why_not;
    if (ifs.empty()) return view;
    return Error{ErrorCode::kUsage, path + ": --if cannot predict this run: " + *view.not_modelled};
  }
  std::ranges::move(analyzer::idle_settings(requests, requests.settings_text), std::back_inserter(view.idle));
  for (const std::string& text : ifs) {
    DCMT_ASSIGN_OR_RETURN(ReservedIf prediction, predicted_if(requests, text));
    view.predictions.push_back(std::move(prediction));
  }
  return view;
}

}  // namespace dcmt::model
