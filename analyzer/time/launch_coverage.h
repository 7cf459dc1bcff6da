// How much of the GPU's work was observed.
#pragma once

#include <optional>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct LaunchCoverage {
  LaunchCounts counts;
  bool whole = true;  ///< launches were observed all the time

  static constexpr std::string_view kShape = "launches";
  static void describe(auto&& field) {
    const auto count = [&field](std::string_view key, std::int64_t LaunchCounts::*number, std::string_view meaning) {
      field(
          key, [number](const LaunchCoverage& launches) { return launches.counts.*number; }, meaning);
    };
    count("seen", &LaunchCounts::calls, "kernels, copies, fills and graphs that were launched");
    count("graphs", &LaunchCounts::graphs, "of them: CUDA graphs, whose kernels are not seen");
    count("nccl", &LaunchCounts::nccl, "NCCL's kernels, which find their buffers through a queue of their own");
    count("unknown", &LaunchCounts::unknown, "kernels whose parameters could not be read");
    count("copies", &LaunchCounts::copies, "copies in two or three dimensions, or of many at once");
    field("all_the_time", &LaunchCoverage::whole, "false: for a part of the time launches were not recorded");
  }
};

/// The observed launches between two points (`until` zero: the end of the trace) of kernels that could have used a
/// storage. nullopt if the storage is on the CPU, or if launches were not recorded.
[[nodiscard]] std::optional<LaunchCoverage> launch_coverage(const TraceData& data, StorageId storage, Sequence from,
                                                            Sequence until);

}  // namespace dcmt::analyzer
