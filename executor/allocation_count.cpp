#include "executor/allocation_count.h"

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <memory>

namespace dcmt::zero3 {
namespace {

namespace profiler = torch::profiler::impl;

/// Torch expects this class as a thread's profiler: its code casts the registered object to this base without a check.
class Counter final : public profiler::ProfilerStateBase {
 public:
  Counter() : ProfilerStateBase(profiler::ProfilerConfig(profiler::ProfilerState::Disabled, false, true)) {}

  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    allocated_.now += bytes;
    allocated_.most = std::max(allocated_.most, allocated_.now);
  }
  profiler::ActiveProfilerType profilerType() override { return profiler::ActiveProfilerType::NONE; }

  Allocated read() {
    const Allocated seen = allocated_;
    allocated_.most = allocated_.now;
    return seen;
  }

 private:
  Allocated allocated_;
};

thread_local std::shared_ptr<Counter> t_counter;

}  // namespace

void count_allocations(bool on) {
  if (on == (t_counter != nullptr)) return;
  if (on) {
    t_counter = std::make_shared<Counter>();
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, t_counter);
  } else {
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
    t_counter.reset();
  }
}

Allocated read_allocated() { return t_counter != nullptr ? t_counter->read() : Allocated{}; }

}  // namespace dcmt::zero3
