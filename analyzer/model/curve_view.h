// The allocated curve of a device in a few rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/time/curve_overview.h"

namespace dcmt::model {

/// Does not point into a trace.
struct CurveView {
  std::string path;
  std::int64_t rank = -1;
  analyzer::CurveOverview curve;

  static constexpr std::string_view kShape = "show curve";
  static void describe(auto&& field) {
    field("path", &CurveView::path, "");
    field("rank", &CurveView::rank, "");
    field(
        "stored", [](const CurveView& view) { return view.curve.stored; },
        "false: the trace is not finished and has no pyramid, so its rows were read");
    field(
        "devices", [](const CurveView& view) -> const auto& { return view.curve.devices; },
        "GPUs before the CPU, of several the highest peak first");
    field("device", &CurveView::device, "of the rows; null: nothing was allocated");
    field(
        "rows", [](const CurveView& view) -> const auto& { return view.curve.rows; },
        "one after the other; before the first one nothing was allocated");
  }

  [[nodiscard]] std::optional<std::string> device() const {
    return curve.devices.empty() ? std::nullopt : std::optional(curve.device.device);
  }
  /// From the start of the trace to a time of it.
  [[nodiscard]] TimeNs after_start(TimeNs ns) const { return TimeNs(ns.value - curve.start.value); }
  /// Relative to the device's peak; at least 0.
  [[nodiscard]] double share_of_peak(Bytes bytes) const {
    return bytes.value > 0 ? static_cast<double>(bytes.value) / static_cast<double>(curve.device.peak().value) : 0;
  }
};

}  // namespace dcmt::model
