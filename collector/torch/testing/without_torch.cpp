// Replaces what release_keys.cpp calls and these tests do not have: operators, tensors, Python and CUDA.
#include "collector/torch/testing/without_torch.h"

#include "collector/agent/provider.h"
#include "collector/torch/records/callback_switch.h"
#include "collector/torch/records/census.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/records/tensor_records.h"
#include "collector/torch/state/cpu_allocator.h"

namespace dcmt::agent {

namespace {

constinit const PythonProvider kPython = [] {
  PythonProvider python{};
  python.capture_stack = [](std::uint64_t*) noexcept { return std::uint64_t{0}; };
  python.prepare_visit = []() noexcept { ++torch_provider::g_prepared; };
  return python;
}();

}  // namespace

const PythonProvider* python_provider() noexcept { return &kPython; }
const CudaProvider* cuda_provider() noexcept { return nullptr; }
const char* operators_path() noexcept { return nullptr; }

}  // namespace dcmt::agent

namespace dcmt::torch_provider {

std::atomic<int> g_censuses{0};
std::atomic<int> g_prepared{0};

std::vector<const void*> g_inspected;

void run_census(wire::CensusTrigger trigger, const void* storage, KeyIndex) noexcept {
  ++g_censuses;
  if (trigger == wire::CensusTrigger::kOutOfMemory) g_inspected.push_back(storage);
}
bool g_of_cpu_allocator = true;
bool is_of_cpu_allocator(const StorageCopy&) noexcept { return g_of_cpu_allocator; }
void follow_from_now(const void*) noexcept {}
void write_small_sums() noexcept {}
void switch_callbacks() noexcept {}
void set_operator_need(OperatorNeed, bool) noexcept {}
bool has_operator_need(OperatorNeed) noexcept { return false; }

}  // namespace dcmt::torch_provider
