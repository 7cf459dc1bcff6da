#include "collector/torch/operator_events.h"

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <atomic>
#include <memory>

#include "collector/agent/provider.h"
#include "collector/torch/lifetime_hooks.h"
#include "collector/torch/operator_wrap.h"
#include "collector/torch/release_keys.h"
#include "collector/torch/tensor_shape.h"
#include "collector/torch/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

// Inputs are boxed for every operator while a callback wants them, so that callback is on only while a released
// storage is alive.
std::atomic<at::CallbackHandle> g_reads_handle{at::INVALID_CALLBACK_HANDLE};

/// True if the operator only makes a view of argument `index`, or does not look at its data.
bool reads_data(const at::RecordFunction& function, std::size_t index) {
  const auto schema = function.operator_schema();
  if (!schema.has_value()) return function.scope() == at::RecordScope::FUNCTION;
  const auto& arguments = schema->arguments();
  if (index >= arguments.size()) return true;
  const auto* alias = arguments[index].alias_info();
  if (alias == nullptr) return schema->name() != "aten::record_stream" && schema->name() != "aten::_version";
  return alias->isWrite() && schema->name() != "aten::set_" && schema->name() != "aten::resize_" &&
         schema->name() != "aten::detach_";
}

void look_at(const at::RecordFunction& function, std::size_t index, const at::Tensor& tensor, std::uint64_t ordinal) {
  ReleasedKey key;
  if (!tensor.defined() || !released_key_of(tensor.unsafeGetTensorImpl(), key)) return;
  if (reads_data(function, index)) write_read(key, tensor.unsafeGetTensorImpl(), function.name(), ordinal);
}

std::unique_ptr<at::ObserverContext> on_inputs(const at::RecordFunction& function) {
  if (!agent::recording() || !reads_wanted()) return nullptr;
  agent::Inside inside;
  const TorchThread* thread = torch_thread();
  // What gather, wait and release do inside is theirs.
  if (thread == nullptr || thread->in_cycle_op != 0) return nullptr;
  const auto inputs = function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isTensor()) {
      look_at(function, i, inputs[i].toTensor(), thread->ordinal);
    } else if (inputs[i].isTensorList()) {
      for (const c10::IValue& element : inputs[i].toListRef())
        look_at(function, i, element.toTensor(), thread->ordinal);
    }
  }
  return nullptr;
}

void switch_reads(bool wanted) {
  const at::CallbackHandle handle = g_reads_handle.load(std::memory_order_relaxed);
  if (wanted == (handle != at::INVALID_CALLBACK_HANDLE)) return;
  if (wanted) {
    g_reads_handle.store(at::addGlobalCallback(
        at::RecordFunctionCallback(&on_inputs).needsInputs(true).scopes({at::RecordScope::FUNCTION})));
  } else {
    g_reads_handle.store(at::INVALID_CALLBACK_HANDLE);
    at::removeCallback(handle);
  }
}

wire::OpScope scope_of(const at::RecordFunction& function) {
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      return wire::OpScope::kBackward;
    case at::RecordScope::USER_SCOPE:
      return wire::OpScope::kUser;
    default:
      return wire::OpScope::kFunction;
  }
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
  if (!agent::recording()) return nullptr;
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return nullptr;
  if (agent::objects_changed() && agent::take_objects_changed()) patch_new_objects();
  if (wrapping_wanted()) wrap_registered_operators();
  settle_releases();

  ++thread->ordinal;
  if (thread->depth < TorchThread::kMaxDepth) {
    thread->running[thread->depth] = {function.name(), thread->ordinal, static_cast<std::uint32_t>(scope_of(function))};
  }
  ++thread->depth;
  // Phases and steps are told from scopes of these kinds, also when nothing happens inside them.
  if (agent::full_detail() || function.scope() != at::RecordScope::FUNCTION) write_running_ops();
  return nullptr;
}

void on_end(const at::RecordFunction&, at::ObserverContext*) {
  if (!agent::recording()) return;
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr || thread->depth == 0) return;
  --thread->depth;
  if (thread->depth < thread->written) {
    thread->written = thread->depth;
    auto* record =
        static_cast<wire::OpRecord*>(agent::begin_record(wire::RecordType::kOpEnd, sizeof(wire::OpRecord), 0));
    if (record != nullptr) {
      record->name = 0;
      record->ordinal = thread->running[thread->depth].ordinal;
      agent::commit_record(record);
    }
  }
  switch_reads(reads_wanted());
}

}  // namespace

void start_operator_events() {
  at::addGlobalCallback(
      at::RecordFunctionCallback(&on_begin, &on_end)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

TensorShape tensor_shape(const void* tensor) noexcept {
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  if (impl->has_symbolic_sizes_strides()) return {0, 0};
  return {static_cast<std::uint64_t>(impl->numel()), static_cast<std::uint64_t>(impl->storage_offset())};
}

}  // namespace dcmt::torch_provider
