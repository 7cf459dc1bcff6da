#include "collector/torch/operators/operator_events.h"

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <string_view>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/hooks/new_objects.h"
#include "collector/torch/hooks/storage_hooks.h"
#include "collector/torch/keys/proof.h"
#include "collector/torch/keys/reference_watch.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/operators/callback_lock.h"
#include "collector/torch/operators/operator_wrap.h"
#include "collector/torch/operators/results.h"
#include "collector/torch/records/callback_switch.h"
#include "collector/torch/records/key_reads.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

at::CallbackHandle g_scopes_handle = at::INVALID_CALLBACK_HANDLE;  ///< for user scopes, if a callback observes them

/// Operators that use only the shape, type or identity of a tensor.
bool uses_metadata_only(std::string_view name) {
  if (!name.starts_with("aten::")) return false;
  name.remove_prefix(6);
  if (name.ends_with("_like") || name.starts_with("new_") || name.starts_with("sym_") || name.starts_with("is_")) {
    return true;
  }
  constexpr std::string_view kNames[] = {"record_stream",
                                         "_version",
                                         "_has_compatible_shallow_copy_type",
                                         "size",
                                         "stride",
                                         "numel",
                                         "dim",
                                         "storage_offset",
                                         "result_type",
                                         "can_cast",
                                         "set_",
                                         "resize_",
                                         "resize_as_",
                                         "detach_",
                                         "data",
                                         "set_data",
                                         "output_nr",
                                         "retain_grad",
                                         "requires_grad_",
                                         "_debug_has_internal_overlap"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// Operators that overwrite all data of the tensor they work on (their first argument). Targets of `out=` follow from
/// the schema.
bool overwrites_first_argument(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "aten::copy_",   "aten::fill_",          "aten::zero_",          "aten::random_",         "aten::uniform_",
      "aten::normal_", "aten::bernoulli_",     "aten::exponential_",   "aten::geometric_",      "aten::log_normal_",
      "aten::cauchy_", "aten::_foreach_copy_", "aten::_foreach_zero_", "c10d::_allgather_base_"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

enum class Use { kNone, kReads, kOverwrites };

/// How the operator uses the data of its argument `index`: not at all if it makes a view of it or needs only its shape.
Use use_of(const at::RecordFunction& function, std::size_t index) {
  const auto schema = function.operator_schema();
  if (!schema.has_value()) return Use::kNone;  // a named range, not an operator
  if (uses_metadata_only(schema->name())) return Use::kNone;
  const auto& arguments = schema->arguments();
  if (index >= arguments.size()) return Use::kReads;
  // Only the shape, type or stride of this argument is used: expand_as(self, other), to(self, other).
  if (index > 0 && schema->name().ends_with("_as")) return Use::kNone;
  if (arguments[index].is_out()) return Use::kOverwrites;
  const auto* alias = arguments[index].alias_info();
  if (alias == nullptr) return Use::kReads;
  if (!alias->isWrite()) return Use::kNone;
  return index == 0 && overwrites_first_argument(schema->name()) ? Use::kOverwrites : Use::kReads;
}

/// Notes an input, so that a later check can compare a kernel's arguments with the operator's inputs. A storage that is
/// watched now can be released before the operator launches a kernel.
void note_input(TorchThread& thread, RunningOp& op, const at::Tensor& tensor) {
  // Without a storage of its own, such as a sparse tensor, or with Python's dispatch, it can contain any tensor.
  if (!tensor.has_storage() || tensor.unsafeGetTensorImpl()->is_python_dispatch()) op.inputs_known = false;
  const void* storage = layout::storage_of(tensor.unsafeGetTensorImpl());
  if (!op.inputs_known) op.memory_known = false;
  if (agent::follows_streams() && storage != nullptr) {
    add_operator_memory(thread, layout::data_of(storage), layout::bytes_of(storage));
  }
  if (!storage_is_watched(storage)) return;
  if (op.watched_count == RunningOp::kMostWatched) {
    op.inputs_known = false;
  } else {
    op.watched[op.watched_count++] = storage;
  }
}

/// @param op  the running `function` if its inputs are to be noted, else nullptr
void inspect_input(const at::RecordFunction& function, std::size_t index, const at::Tensor& tensor, TorchThread& thread,
                   RunningOp* op) {
  if (!tensor.defined()) return;
  if (op != nullptr) note_input(thread, *op, tensor);
  ReleasedKey key;
  if (!released_key_of(tensor.unsafeGetTensorImpl(), key)) return;
  if (const Use use = use_of(function, index); use != Use::kNone) {
    write_read(key, tensor.unsafeGetTensorImpl(), function.name(), thread.ordinal,
               use == Use::kOverwrites ? wire::kReadOverwrites : 0);
  } else if (key.bytes == 0 && thread.empty_view.function == nullptr) {
    thread.empty_view = {&function, tensor.unsafeGetTensorImpl(), key, std::uncaught_exceptions()};
  }
}

/// Other threads may do parts of it: op_with_input() gives them its stack.
void publish_op(TorchThread& thread, RunningOp& op) {
  op.stack = stack_here();
  op.module = thread.module;
  op.stack_known = true;
  write_running_ops();
}

std::unique_ptr<at::ObserverContext> on_inputs(const at::RecordFunction& function) {
  if (!agent::recording() || !(reads_wanted() || agent::follows_streams())) return nullptr;
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  // Calls inside gather, wait and release operators do not count.
  if (thread == nullptr || thread->in_cycle_op != 0) return nullptr;
  RunningOp* op = innermost_op(*thread);
  if (op != nullptr && op->function != &function) op = nullptr;
  if (op != nullptr) {
    op->inputs_known = true;
    op->memory_known = agent::follows_streams();
    op->watched_count = 0;
  }
  const auto inputs = function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isTensor()) {
      inspect_input(function, i, inputs[i].toTensor(), *thread, op);
    } else if (inputs[i].isTensorList() || inputs[i].isOptionalTensorList()) {
      for (const c10::IValue& element : inputs[i].toListRef()) {
        if (element.isTensor()) inspect_input(function, i, element.toTensor(), *thread, op);
      }
    }
  }
  if (proving() && op != nullptr && op->watched_count > 0) publish_op(*thread, *op);
  return nullptr;
}

/// Torch refuses most views of a storage without bytes: code that wanted to read the storage gets an error there.
void on_inputs_end(const at::RecordFunction& function, at::ObserverContext*) {
  if (!agent::recording()) return;
  TorchThread* thread = torch_thread();
  if (thread == nullptr || thread->empty_view.function != &function) return;
  agent::Inside inside;
  const EmptyView view = thread->empty_view;
  thread->empty_view.function = nullptr;
  if (std::uncaught_exceptions() > view.exceptions)
    write_read(view.key, view.tensor, function.name(), thread->ordinal, 0);
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function);
void on_end(const at::RecordFunction& function, at::ObserverContext*);

at::RecordFunctionCallback observe_user_scopes() {
  return at::RecordFunctionCallback(&on_begin, &on_end).scopes({at::RecordScope::USER_SCOPE});
}

/// A callback for user scopes on this thread, as long as it lives: a scope uses the callbacks that exist when it is
/// made.
class ObserveUserScope {
 public:
  ObserveUserScope() : handle_(at::addThreadLocalCallback(observe_user_scopes())) {}
  ~ObserveUserScope() { at::removeCallback(handle_); }
  ObserveUserScope(const ObserveUserScope&) = delete;
  ObserveUserScope& operator=(const ObserveUserScope&) = delete;

 private:
  at::CallbackHandle handle_;
};

/// RecordFunction(scope)
using MakeScope = void (*)(void*, at::RecordScope);
constexpr char kMakeScopeC1[] = "_ZN2at14RecordFunctionC1ENS_11RecordScopeE";
constexpr char kMakeScopeC2[] = "_ZN2at14RecordFunctionC2ENS_11RecordScopeE";
MakeScope g_make_scope;

void on_make_scope(void* function, at::RecordScope scope) {
  if (scope != at::RecordScope::USER_SCOPE || !agent::recording()) return g_make_scope(function, scope);
  const ObserveUserScope observe;
  g_make_scope(function, scope);
}

// Autograd's engine sets a thread's state at every node's begin and end, and torch then rebuilds the thread's list of
// callbacks from all existing ones. Below `operators` there are none before the first gather
// (docs/decisions/detail.md).
at::RecordFunctionCallback observe_operators() {
  at::RecordFunctionCallback callback(&on_begin, &on_end);
  if (!agent::every_operator()) {
    return callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  }
  return callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE});
}

at::RecordFunctionCallback observe_inputs() {
  return at::RecordFunctionCallback(&on_inputs, &on_inputs_end).needsInputs(true).scopes({at::RecordScope::FUNCTION});
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

// Scopes that ended on a thread other than the one where they began, until that thread removes them from its operators.
constexpr int kEndedElsewhere = 64;
std::atomic<const void*> g_ended_elsewhere[kEndedElsewhere];
std::atomic<int> g_ended_elsewhere_count{0};

void note_ended_elsewhere(const void* function) {
  for (auto& entry : g_ended_elsewhere) {
    const void* empty = nullptr;
    if (!entry.compare_exchange_strong(empty, function)) continue;
    g_ended_elsewhere_count.fetch_add(1);
    return;
  }
}

bool remove_ended_elsewhere(const void* function) {
  for (auto& entry : g_ended_elsewhere) {
    const void* expected = function;
    if (!entry.compare_exchange_strong(expected, nullptr)) continue;
    g_ended_elsewhere_count.fetch_sub(1);
    return true;
  }
  return false;
}

void end_scopes_left_elsewhere(TorchThread& thread) {
  while (thread.depth > 0 && thread.depth <= TorchThread::kMaxDepth && g_ended_elsewhere_count.load() > 0 &&
         remove_ended_elsewhere(thread.running[thread.depth - 1].function)) {
    end_op(thread, thread.depth - 1);
  }
}

/// If a callback needs inputs, torch holds a reference to each of them here. These references do not belong to the
/// program.
void note_boxed_inputs(const at::RecordFunction& function, TorchThread& thread) {
  thread.boxed_count = 0;
  for (const c10::IValue& input : function.inputs()) {
    if (thread.boxed_count == TorchThread::kMaxBoxed) return;
    if (input.isTensor() && input.toTensor().defined()) {
      thread.boxed[thread.boxed_count++] = input.toTensor().unsafeGetTensorImpl();
    }
  }
}

void write_at_once() noexcept {
  write_small_sums();
  write_running_ops();
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
  if (!agent::recording()) return nullptr;
  if (proving() && prove_by() == ProveBy::kFree) free_released(empty_storage);
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return nullptr;
  if (agent::objects_changed() && agent::consume_objects_changed()) patch_new_objects();
  if (wrapping_due(function.name())) wrap_registered_operators();
  if (thread->pending_count != 0) {
    note_boxed_inputs(function, *thread);
    settle_releases(Settling::kWithCensus);
    thread->boxed_count = 0;
  }

  if (watching_counts() && counts_are_read()) read_counts();
  thread->memory_refused = false;  // no operator is running
  if (g_ended_elsewhere_count.load(std::memory_order_relaxed) > 0) end_scopes_left_elsewhere(*thread);
  const wire::OpScope scope = scope_of(function);
  // Steps are derived from user scopes, even if nothing is recorded inside them.
  const bool late = !agent::every_operator() && scope != wire::OpScope::kUser && !thread->record_next_op;
  thread->record_next_op = false;
  begin_op(*thread, &function, function.name(), scope);
  // Usually nothing is recorded inside an operator, and its begin is never written.
  if (!late) write_at_once();
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext*) {
  if (!agent::recording()) return;
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  if (thread->memory_refused) {
    // No census was possible under the allocator's lock. Python's frames are still those that called the operator.
    thread->memory_refused = false;
    inspect_released(wire::CensusTrigger::kOutOfMemory);
  }
  if (watching_counts() && counts_are_read()) read_counts();
  if (function.scope() == at::RecordScope::USER_SCOPE) write_small_sums();
  // Python can leave scopes in another order, or on another thread, than it entered them.
  if (!end_op_of(*thread, &function)) note_ended_elsewhere(&function);
  switch_callbacks();
}

}  // namespace

std::span<const elf::ImportPatch> user_scope_imports() noexcept {
  static const elf::ImportPatch kImports[] = {
      {kMakeScopeC1, elf::pointer(on_make_scope), nullptr},
      {kMakeScopeC2, elf::pointer(on_make_scope), nullptr},
  };
  if (agent::every_operator()) return {};
  if (g_make_scope != nullptr) return kImports;
  void* cpu = elf::loaded_library("libtorch_cpu.so");
  if (cpu == nullptr || !elf::find(cpu, kMakeScopeC1, g_make_scope)) return {};
  return kImports;
}

void start_operator_events() {
  static const bool kept =
      keep_callback_lock_over_forks([] { at::removeCallback(at::addGlobalCallback(observe_operators())); });
  if (!kept) {
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "torch's lock of callbacks was not found: a child forked while another thread has it would hang");
  }
  if (proving() && prove_by() != ProveBy::kFence) start_results();
  // This torch makes scopes in another way: steps and phases then need a callback at every node.
  if (!agent::every_operator() && user_scope_imports().empty()) {
    g_scopes_handle = at::addGlobalCallback(observe_user_scopes());
  }
  allow_callbacks(&observe_operators, &observe_inputs);
}

void forget_operator_events() noexcept {
  for (auto& entry : g_ended_elsewhere) entry.store(nullptr, std::memory_order_relaxed);
  g_ended_elsewhere_count.store(0, std::memory_order_relaxed);
}

void stop_operator_events() {
  forbid_callbacks();
  stop_results();
  if (g_scopes_handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(g_scopes_handle);
  g_scopes_handle = at::INVALID_CALLBACK_HANDLE;
}

}  // namespace dcmt::torch_provider
