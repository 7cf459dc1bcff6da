// The allocated curve of a device in a few rows.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/values.h"
#include "analyzer/time/curve_overview.h"

namespace dcmt::model {

struct CurveDevice {
  std::string device;
  Bytes peak;
  Point peak_at;

  static constexpr std::string_view kShape = "curve_device";
  static void describe(auto&& field) {
    field("device", &CurveDevice::device, "");
    field("peak_bytes", &CurveDevice::peak, "of the whole run");
    field("peak_at", &CurveDevice::peak_at, "first reached there");
  }
};

struct CurveRow {
  Point from, to;
  std::optional<std::int64_t> first_step, last_step;
  Bytes lowest;
  bool lowest_exact = true;
  Bytes highest;
  Point highest_at;
  Bytes last;

  TimeNs after_start;                          ///< begin of the row, from the start of the trace
  double lowest_share = 0, highest_share = 0;  ///< relative to the device's peak; at least 0
  bool has_peak = false;

  static constexpr std::string_view kShape = "curve_row";
  static void describe(auto&& field) {
    field("from", &CurveRow::from, "of its first change");
    field("to", &CurveRow::to, "of the next row's, or the end of the trace; excluded");
    field("first_step", &CurveRow::first_step, "that it touches; null: it begins after the last step");
    field("last_step", &CurveRow::last_step, "");
    field("lowest_bytes", &CurveRow::lowest, "allocated after any change of it");
    field("lowest_exact", &CurveRow::lowest_exact,
          "false: it has steps of which only sums were kept, and may have been lower there");
    field("highest_bytes", &CurveRow::highest, "exact in any case");
    field("highest_at", &CurveRow::highest_at, "first reached there");
    field("last_bytes", &CurveRow::last, "allocated after its last change");
  }
};

/// Does not point into a trace.
struct CurveView {
  std::string path;
  std::int64_t rank = -1;
  bool stored = false;
  std::vector<CurveDevice> devices;
  std::optional<std::string> device;
  std::vector<CurveRow> rows;

  CurveDevice of;                                     ///< the device of the rows
  std::optional<std::int64_t> first_step, last_step;  ///< of its peak
  TimeNs length;                                      ///< from the start of the trace to the last change
  bool all_lowest_exact = true;

  static constexpr std::string_view kShape = "show curve";
  static void describe(auto&& field) {
    field("path", &CurveView::path, "");
    field("rank", &CurveView::rank, "");
    field("stored", &CurveView::stored, "false: the trace is not finished and has no pyramid, so its rows were read");
    field("devices", &CurveView::devices, "GPUs before the CPU, of several the highest peak first");
    field("device", &CurveView::device, "of the rows; null: nothing was allocated");
    field("rows", &CurveView::rows, "one after the other; before the first one nothing was allocated");
  }
};

[[nodiscard]] CurveView curve_view(const std::string& path, std::int64_t rank, const analyzer::CurveOverview& curve);

}  // namespace dcmt::model
