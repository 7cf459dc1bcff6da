#include "analyzer/model/gpu_memory.h"

#include <algorithm>

namespace dcmt::model {
namespace {

std::optional<Bytes> outside(const analyzer::GpuMemory& sample) {
  const std::int64_t bytes = sample.process.value_or(sample.used).value - sample.reserved.value;
  return bytes < 0 ? std::nullopt : std::optional(Bytes(bytes));
}

}  // namespace

std::vector<GpuMemoryView> gpu_memory(const analyzer::TraceData& data, const std::vector<analyzer::Step>& steps,
                                      TimeNs begin) {
  std::vector<GpuMemoryView> gpus;
  std::int64_t latest = -1;
  for (const analyzer::GpuMemory& sample : data.gpu_memory) {
    if (gpus.empty() || sample.gpu != latest) gpus.emplace_back().device = "cuda:" + std::to_string(sample.gpu);
    latest = sample.gpu;
    GpuMemoryView& gpu = gpus.back();
    gpu.total = sample.total;
    gpu.highest = std::max(gpu.highest, sample.used);
    ++gpu.samples;
    const GpuMemoryOfStep now{analyzer::last_ended(steps, sample.ns, &analyzer::Step::to_ns),
                              TimeNs(sample.ns.value - begin.value),
                              sample.used,
                              sample.reserved,
                              sample.process,
                              outside(sample)};
    if (now.outside) gpu.outside = std::max(gpu.outside.value_or(Bytes()), *now.outside);
    if (!gpu.steps.empty() && gpu.steps.back().step == now.step) gpu.steps.pop_back();
    gpu.steps.push_back(now);
  }
  return gpus;
}

}  // namespace dcmt::model
