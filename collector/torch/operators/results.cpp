#include "collector/torch/operators/results.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>

#include <cstring>
#include <memory>

#include "collector/agent/provider.h"
#include "collector/torch/keys/proof.h"

namespace dcmt::torch_provider {
namespace {

at::CallbackHandle g_handle = at::INVALID_CALLBACK_HANDLE;

bool has_result(const at::RecordFunction& function) {
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    return std::strcmp(function.name(), "torch::autograd::AccumulateGrad") == 0;
  }
  return std::strcmp(function.name(), "aten::_local_scalar_dense") == 0;
}

/// Memory of a GPU, sparse tensors and generated wrappers are not compared.
std::unique_ptr<at::ObserverContext> on_function(const at::RecordFunction& function) {
  if (!agent::recording() || !has_result(function)) return nullptr;
  const agent::Inside inside;
  const auto inputs = function.inputs();
  if (inputs.empty() || !inputs[0].isTensor()) return nullptr;
  at::Tensor result = inputs[0].toTensor();
  if (!result.defined() || !result.device().is_cpu() || result.layout() != at::kStrided || !result.has_storage() ||
      result.unsafeGetTensorImpl()->is_python_dispatch()) {
    return nullptr;
  }
  const at::AutoDispatchBelowAutograd below;
  result = result.contiguous();
  write_result(function.name(), result.const_data_ptr(), result.nbytes());
  return nullptr;
}

}  // namespace

void start_results() {
  g_handle = at::addGlobalCallback(at::RecordFunctionCallback(&on_function)
                                       .needsInputs(true)
                                       .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

void stop_results() {
  if (g_handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(g_handle);
  g_handle = at::INVALID_CALLBACK_HANDLE;
}

}  // namespace dcmt::torch_provider
