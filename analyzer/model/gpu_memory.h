// The memory of GPUs that is in use beside torch's allocator, by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/model/values.h"
#include "analyzer/time/timeline.h"

namespace dcmt::model {

/// A GPU's memory at the end of a step.
struct GpuMemoryOfStep {
  std::optional<std::int64_t> step;
  TimeNs ns;
  Bytes used, reserved;
  std::optional<Bytes> process, outside;

  static constexpr std::string_view kShape = "gpu_memory_of_step";
  static void describe(auto&& field) {
    field("step", &GpuMemoryOfStep::step, "the one that had ended last; null: none had");
    field("ns", &GpuMemoryOfStep::ns, "since the begin of the trace");
    field("used_bytes", &GpuMemoryOfStep::used, "in use on the GPU, by all processes");
    field("reserved_bytes", &GpuMemoryOfStep::reserved, "by torch's allocator in this process");
    field("process_bytes", &GpuMemoryOfStep::process,
          "of the used ones, this process's; null: the driver does not say, as in a container");
    field("outside_bytes", &GpuMemoryOfStep::outside,
          "of `process_bytes`, or else of the used ones, what torch's allocator has not reserved; null: the allocator "
          "has given memory back and has not reported it yet");
  }
};

struct GpuMemoryView {
  std::string device;
  Bytes total, highest;
  std::optional<Bytes> outside;
  std::int64_t samples = 0;
  std::vector<GpuMemoryOfStep> steps;

  static constexpr std::string_view kShape = "gpu_memory";
  static void describe(auto&& field) {
    field("device", &GpuMemoryView::device, "\"cuda:0\"");
    field("total_bytes", &GpuMemoryView::total, "that programs can use");
    field("highest_bytes", &GpuMemoryView::highest, "the most that a sample found in use");
    field("highest_outside_bytes", &GpuMemoryView::outside, "the most of `outside_bytes`");
    field("samples", &GpuMemoryView::samples, "");
    field("steps", &GpuMemoryView::steps, "the last sample of each step that has one");
  }
};

/// @param begin  of the trace
[[nodiscard]] std::vector<GpuMemoryView> gpu_memory(const analyzer::TraceData& data,
                                                    const std::vector<analyzer::Step>& steps, TimeNs begin);

}  // namespace dcmt::model
