// When GPUs worked, and on what, as `show kernels` prints it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/devices/gpu_work.h"

namespace dcmt::model {

struct KernelsView {
  std::string path;
  std::int64_t rank = -1;
  std::vector<analyzer::GpuTimeline> gpus;

  static constexpr std::string_view kShape = "show kernels";
  static void describe(auto&& field) {
    field("path", &KernelsView::path, "");
    field("rank", &KernelsView::rank, "");
    field("gpus", &KernelsView::gpus, "empty: their work was not recorded (run --kernels all), or there was none");
  }
};

}  // namespace dcmt::model
