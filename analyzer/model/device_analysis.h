// The analysis of one device: its peak, and the peak without the findings, each alone and all together.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/releases/what_if.h"
#include "analyzer/rules/finding.h"
#include "analyzer/time/step_peaks.h"

namespace dcmt::analyzer {

/// Bytes that several findings keep at once: they are freed only when the last of these findings is fixed.
struct SharedBytes {
  std::vector<std::int64_t> findings;  ///< their numbers, ascending
  Bytes at_peak;

  static constexpr std::string_view kShape = "shared_bytes";
  static void describe(auto&& field) {
    field("findings", &SharedBytes::findings, "their numbers");
    field("bytes", &SharedBytes::at_peak, "alive at the peak");
  }
};

/// Parts point into the TraceData and the Releases, which must outlive this object.
struct DeviceAnalysis {
  StringId device;                                 ///< zero if nothing was allocated
  WhatIf what_if;                                  ///< without all findings together
  PredictedAs predicted_as = PredictedAs::kValue;  ///< of `what_if`
  std::vector<StepPeak> steps;
  std::vector<SharedBytes> shared;  ///< at the measured peak, most bytes first

  /// The step and phase of the peak; nullptr if it lies outside of all.
  const Step* peak_step = nullptr;
  const Mark* peak_phase = nullptr;
};

/// Computes the peak of `device`, its steps and its prediction. `shared` stays empty.
[[nodiscard]] DeviceAnalysis analyze_device(const TraceData& data, const Releases& releases, const PhaseIndex& phases,
                                            StringId device);

/// Fills the facts that relate the device's findings to its peak: bytes dead and alive there, and the peak without each
/// finding alone. Fills `device.shared`. If something grows, updates the predicted peak and steps of the device, too.
/// Findings of other devices are not changed.
void add_what_if(const TraceData& data, const Releases& releases, DeviceAnalysis& device,
                 std::vector<Finding>& findings);

/// The stretches in which a finding keeps blocks that nothing needs. Empty if freeing the blocks would break the
/// program.
[[nodiscard]] std::vector<Gap> gaps_of_finding(const TraceData& data, const Finding& finding);

/// The blocks of a finding's storages, by id.
[[nodiscard]] std::vector<const Block*> blocks_of(const TraceData& data, const Finding& finding);

/// What the device's curve loses if the findings with these numbers are fixed. Blocks that other findings keep stay.
[[nodiscard]] std::vector<Gap> gaps_without(const TraceData& data, const DeviceAnalysis& device,
                                            const std::vector<Finding>& findings,
                                            const std::vector<std::int64_t>& fixed);

}  // namespace dcmt::analyzer
