// The allocated curve of a device in a few rows, with their steps: read from the pyramid and the intervals alone.
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

/// Of which device, and which stretch of its curve. A moment is a sequence number or "step:N", which stands for the
/// step's begin in `from` and for its end in `to`.
struct CurveQuestion {
  std::string device;    ///< empty: the first of `devices`
  std::string from, to;  ///< both included; empty: as far as the trace goes
  std::size_t rows = 0;  ///< at most
};

struct CurveRow {
  CurveStretch stretch;
  std::optional<StepRange> steps;  ///< nullopt: it begins after the last one, or the trace has none
};

struct CurveOverview {
  std::vector<DeviceCurve> devices;     ///< GPUs before the CPU, then the highest peak; empty: nothing was allocated
  DeviceCurve device;                   ///< of these, the one that the rows are of
  std::optional<StepRange> peak_steps;  ///< where its peak is
  std::vector<CurveRow> rows;
  bool stored = false;  ///< false: the trace has no pyramid, so its rows were read
  TimeNs start;         ///< of the trace
};

/// The trace as of one moment. Fails with kUsage if there is no such device or moment, with kBadInput if the trace is
/// damaged.
Expected<CurveOverview> curve_overview(Database& database, const CurveQuestion& question);

}  // namespace dcmt::analyzer
