// The allocated curve of a device in a few rows, with their steps. Reads only the pyramid and the intervals.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/time/pyramid.h"
#include "analyzer/time/step_lookup.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A device and a stretch of its curve. A point is a sequence number or "step:N", which means the step's begin in
/// `from` and its end in `to`.
struct CurveQuestion {
  std::string device;    ///< empty: the first of `devices`
  std::string from, to;  ///< both included; empty: to the limits of the trace
  std::size_t rows = 0;  ///< at most
};

struct CurveRow {
  CurveStretch stretch;
  std::optional<StepRange> steps;  ///< nullopt: the row begins after the last step, or the trace has no steps
};

struct CurveOverview {
  std::vector<DeviceCurve> devices;     ///< GPUs before the CPU, then the highest peak; empty: nothing was allocated
  DeviceCurve device;                   ///< the device of `rows`
  std::optional<StepRange> peak_steps;  ///< the steps of its peak
  std::vector<CurveRow> rows;
  bool stored = false;  ///< false: the trace has no pyramid, so its rows were read instead
  TimeNs start;         ///< of the trace
};

/// Reads the trace in one consistent state. Fails with kUsage if there is no such device or point, with kBadInput if
/// the trace is damaged.
Expected<CurveOverview> curve_overview(Database& database, const CurveQuestion& question);

}  // namespace dcmt::analyzer
