// The allocated curve of a device in a few rows, with their steps. Reads only the pyramid and the intervals.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_point.h"
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

  static constexpr std::string_view kShape = "curve_row";
  static void describe(auto&& field) {
    field(
        "from",
        [](const CurveRow& row) {
          return RunPoint{row.stretch.from, row.stretch.from_ns};
        },
        "of its first change");
    field(
        "to",
        [](const CurveRow& row) {
          return RunPoint{row.stretch.to, row.stretch.to_ns};
        },
        "of the next row's, or the end of the trace; excluded");
    field(
        "first_step", [](const CurveRow& row) { return row.steps ? std::optional(row.steps->first) : std::nullopt; },
        "that it touches; null: it begins after the last step");
    field(
        "last_step", [](const CurveRow& row) { return row.steps ? std::optional(row.steps->last) : std::nullopt; }, "");
    field(
        "lowest_bytes", [](const CurveRow& row) { return row.stretch.lowest; }, "allocated after any change of it");
    field(
        "lowest_exact", [](const CurveRow& row) { return !row.stretch.only_peaks; },
        "false: it has steps of which only sums were kept, and may have been lower there");
    field(
        "highest_bytes", [](const CurveRow& row) { return row.stretch.highest; }, "exact in any case");
    field(
        "highest_at",
        [](const CurveRow& row) {
          return RunPoint{row.stretch.highest_seq, row.stretch.highest_ns};
        },
        "first reached there");
    field(
        "last_bytes", [](const CurveRow& row) { return row.stretch.last; }, "allocated after its last change");
  }
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
