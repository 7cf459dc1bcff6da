// Everything a report says about one trace, computed in one go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/model/device_analysis.h"
#include "analyzer/model/run_facts.h"
#include "analyzer/releases/releases.h"
#include "analyzer/rules/finding.h"
#include "analyzer/rules/remarks.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/survivors.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Parts point into the TraceData, which must outlive it.
struct Analysis {
  const TraceData* data = nullptr;
  PhaseIndex phases;
  Releases releases;
  /// GPUs before the CPU, of several the one with the highest peak first. At least one: of a trace in which nothing was
  /// allocated, one without a name.
  std::vector<DeviceAnalysis> devices;
  /// Out of memory first, then by device, most bytes dead at its peak, most byte·seconds.
  std::vector<Finding> findings;
  std::vector<Remark> remarks;
  std::vector<StepSurvivors> survivors;
  RunFacts facts;

  /// The device that a report begins with.
  [[nodiscard]] const DeviceAnalysis& main() const { return devices.front(); }
};

[[nodiscard]] Analysis analyze(const TraceData& data);
/// Stops between its parts, then fails with kStopped.
[[nodiscard]] Expected<Analysis> analyze(const TraceData& data, const Watch& watch);

/// Leaves of an analysis what is of one device, "cuda:1", or "cuda" for the first of several. Numbers of findings stay.
/// kUsage if nothing was allocated there; `path` is for the message.
[[nodiscard]] Status keep_device(Analysis& analysis, const std::string& path, std::string_view name);

}  // namespace dcmt::analyzer
