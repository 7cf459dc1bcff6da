#include "analyzer/model/reserved_view.h"

#include <algorithm>
#include <charconv>

#include "analyzer/devices/streams.h"
#include "analyzer/model/views.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"

namespace dcmt::model {
namespace {

constexpr std::size_t kMostKept = 10;
constexpr std::size_t kMostKeeping = 3;

KeepingBlock keeping_block(const TraceData& data, const analyzer::HolderNames& names, const analyzer::Block& block,
                           Sequence at) {
  KeepingBlock keeping{block.id, block.bytes, given(block.storage), {}, {}, !block.span.covers(at)};
  keeping.site = analyzer::describe_site(data, block.birth.stack);
  std::string holder = block.storage.valid() ? names.of(block.storage) : std::string(data.text(block.owner));
  if (!holder.empty() && holder != analyzer::kNotRead) keeping.holder = std::move(holder);
  return keeping;
}

std::string hexadecimal(std::int64_t address) {
  char text[16];
  const auto [end, error] = std::to_chars(text, text + sizeof text, static_cast<std::uint64_t>(address), 16);
  return "0x" + std::string(text, end);
}

KeptSegment kept_segment(const TraceData& data, const analyzer::HolderNames& names, const analyzer::HeldSegment& held,
                         Sequence at) {
  KeptSegment kept{hexadecimal(held.address),
                   held.bytes,
                   held.free,
                   held.largest_free,
                   held.stream,
                   held.pool,
                   static_cast<std::int64_t>(held.blocks.size()),
                   {}};
  for (std::size_t i = 0; i < std::min(kMostKeeping, held.blocks.size()); ++i) {
    kept.largest.push_back(keeping_block(data, names, *held.blocks[i], at));
  }
  return kept;
}

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
  const analyzer::HolderNames names(data);
  for (std::size_t i = 0; i < std::min(kMostKept, reserved.held.size()); ++i) {
    view.kept.push_back(kept_segment(data, names, reserved.held[i], seq));
  }
  view.reserved_peak = seq == peak ? reserved.reserved : analyzer::reserved_at(data, device, peak).reserved;

  const analyzer::AllocatorRequests requests = analyzer::requests_of(data, device);
  if (requests.listed.valid()) view.settings = requests.settings_text;
  if (!requests.incomplete.empty()) {
    view.not_modelled = requests.incomplete;
  } else {
    view.model = analyzer::check_model(requests);
    if (!view.model->holds()) view.not_modelled = "the model of torch's allocator does not follow this run";
  }
  if (view.not_modelled) {
    if (ifs.empty()) return view;
    return Error{ErrorCode::kUsage, path + ": --if cannot predict this run: " + *view.not_modelled};
  }
  view.idle = analyzer::idle_settings(requests, requests.settings_text);
  for (const std::string& text : ifs) {
    DCMT_ASSIGN_OR_RETURN(ReservedIf prediction, predicted_if(requests, text));
    view.predictions.push_back(std::move(prediction));
  }
  return view;
}

}  // namespace dcmt::model
