// The peak of a device: its composition, and its predicted value without the findings.
#pragma once

#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/live_set.h"

namespace dcmt::model {

/// A report shows the predictions of so many findings alone.
inline constexpr std::size_t kMostAlone = 4;

/// The predicted peak if one finding alone is fixed.
struct PeakWithout {
  std::int64_t finding = 0;
  Bytes peak;
  std::optional<Bytes> reserved;  ///< of the first kMostAlone, where the model of the allocator follows the run
};

struct DevicePeak {
  std::optional<std::string_view> device;
  Bytes bytes;
  std::optional<RunPoint> at;
  std::optional<std::int64_t> step;
  std::optional<std::string_view> phase;
  std::optional<Bytes> active_bytes, reserved_bytes;
  Bytes needed_bytes, dead_bytes, predicted_bytes, predicted_last_use_bytes;
  analyzer::PredictedAs predicted_as = analyzer::PredictedAs::kValue;
  std::optional<Bytes> predicted_reserved_bytes;
  bool last_use_known = false;
  std::vector<std::int64_t> without_findings;
  std::vector<analyzer::SharedBytes> shared;

  bool sums_only = false;  ///< the rows of the peak's step were not kept
  std::optional<std::string_view> by_operator;
  std::string site;                         ///< of the allocation that reached it; empty: unknown
  double needed_share = 0, dead_share = 0;  ///< parts of the peak
  std::vector<std::int64_t> dead_findings;  ///< findings that have dead bytes at the peak
  std::vector<PeakWithout> alone;           ///< one for each of `without_findings`

  static constexpr std::string_view kShape = "device_peak";
  static void describe(auto&& field) {
    field("device", &DevicePeak::device, "GPUs come before the CPU, of several the one with the highest peak");
    field("bytes", &DevicePeak::bytes, "allocated, as requested");
    field("at", &DevicePeak::at, "the allocation that first reached it");
    field("step", &DevicePeak::step, "");
    field("phase", &DevicePeak::phase, "");
    field("active_bytes", &DevicePeak::active_bytes,
          "allocated, or freed and waiting for a stream, at most in the whole run; CUDA with detail full");
    field("reserved_bytes", &DevicePeak::reserved_bytes,
          "what the allocator had of the device, at most in the whole run; CUDA");
    field("needed_bytes", &DevicePeak::needed_bytes, "the peak without dead_bytes");
    field("dead_bytes", &DevicePeak::dead_bytes, "kept past their release, alive at the peak");
    field("predicted_bytes", &DevicePeak::predicted_bytes, "the peak with every residual storage freed at its release");
    field("predicted_as", &DevicePeak::predicted_as, "of this, as of a finding");
    field("predicted_last_use_bytes", &DevicePeak::predicted_last_use_bytes,
          "the same, storages that were read afterwards freed at their last read");
    field("predicted_reserved_bytes", &DevicePeak::predicted_reserved_bytes,
          "what the allocator would then have of the device, at most; null: not predicted (show reserved says why)");
    field("last_use_known", &DevicePeak::last_use_known, "such reads were seen; else both predictions are the same");
    field("without_findings", &DevicePeak::without_findings,
          "numbers of the findings that `predicted_bytes` leaves out");
    field("shared", &DevicePeak::shared, "of the findings, at the peak");
  }
};

/// A peak together with what is alive there.
struct LivePeak : DevicePeak {
  std::optional<BlockId> block;
  Actor by;
  LiveSet live;

  static constexpr std::string_view kShape = "peak";
  static void describe(auto&& field) {
    DevicePeak::describe(field);
    field("block", &LivePeak::block, "");
    field("by", &LivePeak::by, "");
    LiveSet::describe_groups(
        [&field](std::string_view key, auto member, std::string_view meaning) {
          field(
              key, [member](const LivePeak& peak) { return (peak.live.*member)(); }, meaning);
        },
        "alive at the peak");
  }
};

[[nodiscard]] DevicePeak device_peak_of(const analyzer::Analysis& analysis, const analyzer::DeviceAnalysis& device);
/// The peak of the device that a report begins with.
[[nodiscard]] LivePeak peak_of(const analyzer::Analysis& analysis);

}  // namespace dcmt::model
