// Everything a report says about one trace, computed in one go.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/finding.h"
#include "analyzer/live_set.h"
#include "analyzer/releases.h"
#include "analyzer/run_facts.h"
#include "analyzer/step_peaks.h"
#include "analyzer/survivors.h"
#include "analyzer/trace_data.h"
#include "analyzer/what_if.h"

namespace dcmt::analyzer {

/// Parts point into the TraceData, which must outlive it.
struct Analysis {
  const TraceData* data = nullptr;
  StringId device;  ///< the one with the highest peak; zero if nothing was allocated
  PhaseIndex phases;
  Releases releases;
  WhatIf what_if;
  std::vector<StepPeak> steps;
  std::vector<Finding> findings;  ///< out of memory first, then most bytes dead at the peak, most byte·seconds
  std::vector<StepSurvivors> survivors;
  RunFacts facts;

  /// The step and phase of the peak, nullptr outside of all.
  const Step* peak_step = nullptr;
  const Mark* peak_phase = nullptr;
};

[[nodiscard]] Analysis analyze(const TraceData& data);

}  // namespace dcmt::analyzer
