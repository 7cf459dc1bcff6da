// Everything a report says about one trace, computed in one go.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/model/run_facts.h"
#include "analyzer/releases/releases.h"
#include "analyzer/releases/what_if.h"
#include "analyzer/rules/finding.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/survivors.h"
#include "analyzer/time/step_peaks.h"

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
