#include "memory_counts.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "collector/include/dcmt/marks.h"

namespace {

std::uint64_t g_phase = 0;

}  // namespace

void begin_memory_counts() {
  namespace impl = torch::profiler::impl;
  const impl::ProfilerConfig config(impl::ProfilerState::KINETO, /*report_input_shapes=*/false,
                                    /*profile_memory=*/true);
  const std::set<impl::ActivityType> activities = {impl::ActivityType::CPU};
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
  if (const dcmt_marks* marks = dcmt_get_marks_table()) g_phase = marks->phase_begin("profiled");
}

MemoryCounts end_memory_counts() {
  if (const dcmt_marks* marks = dcmt_get_marks_table()) marks->phase_end(g_phase);
  const auto result = torch::autograd::profiler::disableProfiler();
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;  // time, bytes
  for (const auto& event : result->events()) {
    if (event.name() == "[memory]") sizes.emplace_back(event.startNs(), event.nBytes());
  }
  std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });

  MemoryCounts counts;
  for (const auto& [time, bytes] : sizes) {
    if (bytes > 0) {
      ++counts.allocations;
      counts.allocated_bytes += bytes;
    } else if (bytes < 0) {
      ++counts.frees;
    }
    counts.left_bytes += bytes;
    counts.peak_bytes = std::max(counts.peak_bytes, counts.left_bytes);
  }
  return counts;
}
