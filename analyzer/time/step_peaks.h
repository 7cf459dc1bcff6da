// The peak of each step: as measured, and without storages that were kept past their release.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/time/curve.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

struct StepPeak {
  std::int64_t step = 0;
  Bytes begin;                           ///< allocated when the step began
  Bytes peak;                            ///< the maximum during the step, including `begin`
  std::optional<Bytes> predicted_begin;  ///< both without `gaps`; nullopt for a step with sums only
  std::optional<Bytes> predicted_peak;

  [[nodiscard]] bool kept() const { return predicted_peak.has_value(); }

  static constexpr std::string_view kShape = "step_peak";
  static void describe(auto&& field) {
    field("step", &StepPeak::step, "");
    field("kept", &StepPeak::kept, "false: only sums of this step are in the trace");
    field("begin_bytes", &StepPeak::begin, "allocated when the step began");
    field("peak_bytes", &StepPeak::peak, "the most during the step");
    field("predicted_begin_bytes", &StepPeak::predicted_begin,
          "the same two, had nothing been kept past its release, and nothing grown; null if the step was not kept");
    field("predicted_peak_bytes", &StepPeak::predicted_peak, "");
  }
};

/// One entry per finished step, in order. `gaps`: as from gaps_at_release().
[[nodiscard]] std::vector<StepPeak> step_peaks(const TraceData& data, const std::vector<Step>& steps, StringId device,
                                               const std::vector<Gap>& gaps);

/// Predicts again with other gaps. `peaks`: the result of step_peaks() for these steps.
void predict_step_peaks(const TraceData& data, const std::vector<Step>& steps, StringId device,
                        const std::vector<Gap>& gaps, std::vector<StepPeak>& peaks);

}  // namespace dcmt::analyzer
