// Starts the CUDA provider.
#include "collector/agent/provider.h"
#include "collector/cuda/gpu_work.h"
#include "collector/cuda/kernel_parameters.h"
#include "collector/cuda/subscription.h"

namespace dcmt::cuda_provider {
namespace {

const agent::CudaProvider kProvider = {
    sizeof(agent::CudaProvider), watch_calls, write_launches_if_ever, step_aside, watch_from_now, before_end, leave};

/// Writes the final counts of launches, for storages that live to the end, and the last work.
__attribute__((destructor)) void on_exit() {
  if (agent::cuda_provider() != &kProvider || !agent::recording()) return;
  const agent::Inside inside;
  flush_gpu_work();
  write_launches_if_ever();
}

}  // namespace
}  // namespace dcmt::cuda_provider

extern "C" __attribute__((visibility("default"))) void dcmt_provider_start() {
  using namespace dcmt;
  const char* why = "no memory for the table of kernels: kernels that touch released storages are not seen";
  if (!cuda_provider::make_kernel_table() || !cuda_provider::begin_subscription(&why)) {
    agent::diagnose(wire::DiagnosticCode::kProviderOff, why);
    return;
  }
  agent::register_cuda_provider(&cuda_provider::kProvider);
}
