// What a GPU's allocator had reserved at one point in time, and what it would reserve under other settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/allocator/kept_segments.h"
#include "analyzer/allocator/model_run.h"
#include "analyzer/allocator/remedies.h"
#include "analyzer/allocator/reserved_rows.h"
#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"

namespace dcmt::model {

/// What the settings `--if` would change.
struct ReservedIf {
  std::string settings;
  Bytes reserved_peak, allocated_peak;
  bool runs_out = false;
  std::int64_t refused = 0, refused_fits = 0;
  std::vector<analyzer::IdleSetting> idle;

  static constexpr std::string_view kShape = "reserved_if";
  static void describe(auto&& field) {
    field("settings", &ReservedIf::settings, "of PYTORCH_ALLOC_CONF, the recorded ones included");
    field("reserved_peak_bytes", &ReservedIf::reserved_peak, "that the same requests would need");
    field("allocated_peak_bytes", &ReservedIf::allocated_peak, "as the allocator would round");
    field("runs_out", &ReservedIf::runs_out, "a request that had success would have none");
    field("refused", &ReservedIf::refused, "requests of the run that had no success");
    field("refused_fits", &ReservedIf::refused_fits, "of them, those that would have had success");
    field("idle", &ReservedIf::idle, "settings without an effect on this run");
  }
};

struct ReservedView {
  std::string path;
  std::int64_t rank = -1;
  std::optional<std::string_view> device;
  std::string at;
  Sequence at_seq;
  Bytes reserved;
  std::optional<Bytes> counted;
  std::optional<std::int64_t> stream;
  Bytes largest_free;
  std::vector<analyzer::ReservedRow> rows;
  std::vector<analyzer::KeptSegment> kept;
  std::optional<std::string> settings;
  std::vector<analyzer::IdleSetting> idle;
  Bytes reserved_peak;
  std::optional<analyzer::ModelCheck> model;
  std::optional<std::string> not_modelled;
  std::vector<analyzer::Remedy> remedies;
  std::vector<ReservedIf> predictions;

  std::optional<std::int64_t> step;
  std::int64_t kept_segments = 0;

  static constexpr std::string_view kShape = "show reserved";
  static void describe(auto&& field) {
    field("path", &ReservedView::path, "");
    field("rank", &ReservedView::rank, "");
    field("device", &ReservedView::device, "");
    field("at_seq", &ReservedView::at_seq, "right after this event");
    field("reserved_bytes", &ReservedView::reserved, "then: the sum of the rows");
    field("counted_bytes", &ReservedView::counted,
          "what torch's own counter said then; null: the trace has it only of an out-of-memory error and of the peak");
    field("stream", &ReservedView::stream, "of the latest request; null: not known");
    field("largest_free_bytes", &ReservedView::largest_free, "the largest free piece that this stream can have");
    field("rows", &ReservedView::rows, "");
    field("kept_segments", &ReservedView::kept_segments, "with free bytes that blocks keep");
    field("kept", &ReservedView::kept, "the ten of them with most free bytes");
    field("settings", &ReservedView::settings, "of PYTORCH_ALLOC_CONF, as torch had them; null: not recorded");
    field("idle", &ReservedView::idle,
          "those of them, and variables of the environment, that had no effect on this run");
    field("reserved_peak_bytes", &ReservedView::reserved_peak, "of the run");
    field("model", &ReservedView::model, "how the model of the allocator agrees with the record; null: see below");
    field("not_modelled", &ReservedView::not_modelled, "why nothing can be predicted of this trace; null: it can");
    field("remedies", &ReservedView::remedies,
          "of the finding \"fragmented\" of this device, those that help; empty: there is none");
    field("predictions", &ReservedView::predictions, "for each --if");
  }
};

/// @param at  a point as of show live; "peak" is the peak of what was reserved
/// @param ifs  texts of settings
/// kUsage if there is no such point, if a setting is wrong, or if the trace has no segments of the device.
[[nodiscard]] Expected<ReservedView> reserved_view(const std::string& path, const analyzer::Analysis& analysis,
                                                   const std::string& at, const std::vector<std::string>& ifs);

}  // namespace dcmt::model
