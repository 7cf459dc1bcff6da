// What a report says about one device: its peak, and the peak without the findings, each alone and all together.
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

/// Parts point into the TraceData and the Releases, which must outlive it.
struct DeviceAnalysis {
  StringId device;  ///< zero if nothing was allocated
  WhatIf what_if;   ///< without all findings together
  std::vector<StepPeak> steps;
  std::vector<SharedBytes> shared;  ///< at the measured peak, most bytes first

  /// The step and phase of the peak, nullptr outside of all.
  const Step* peak_step = nullptr;
  const Mark* peak_phase = nullptr;
};

/// The peak of `device`, its steps and its prediction; `shared` stays empty.
[[nodiscard]] DeviceAnalysis analyze_device(const TraceData& data, const Releases& releases, const PhaseIndex& phases,
                                            StringId device);

/// Fills what the findings of that device have to do with its peak: bytes dead and alive there, and the peak without
/// each of them alone. Fills `device.shared`; where something grows, what the device's peak and its steps would be
/// without that, too. Findings of other devices stay as they are.
void add_what_if(const TraceData& data, const Releases& releases, DeviceAnalysis& device,
                 std::vector<Finding>& findings);

}  // namespace dcmt::analyzer
