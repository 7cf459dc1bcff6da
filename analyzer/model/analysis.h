// Everything that a report says about one trace, computed together.
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

/// Parts point into the TraceData, which must outlive this object.
struct Analysis {
  const TraceData* data = nullptr;
  PhaseIndex phases;
  Releases releases;
  /// GPUs before the CPU; of several GPUs the one with the highest peak first. Never empty: if the trace has no
  /// allocation, there is one device without a name.
  std::vector<DeviceAnalysis> devices;
  /// Out-of-memory errors first, then by device, by bytes dead at its peak, by byte·seconds.
  std::vector<Finding> findings;
  std::vector<Remark> remarks;
  std::vector<StepSurvivors> survivors;
  RunFacts facts;

  /// The device that a report begins with.
  [[nodiscard]] const DeviceAnalysis& main() const { return devices.front(); }
};

[[nodiscard]] Analysis analyze(const TraceData& data);
/// Can stop between its parts. Fails with kStopped then.
[[nodiscard]] Expected<Analysis> analyze(const TraceData& data, const Watch& watch);

/// Removes from an analysis what is not of one device: "cuda:1", or "cuda" for the first GPU. Findings keep their
/// numbers. kUsage if nothing was allocated on the device; `path` is used in the message.
[[nodiscard]] Status keep_device(Analysis& analysis, const std::string& path, std::string_view name);

}  // namespace dcmt::analyzer
