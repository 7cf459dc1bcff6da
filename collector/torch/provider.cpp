// Starts the torch provider, and implements its part of the marks table.
#include <stdio.h>
#include <string.h>
#include <torch/version.h>

#include <exception>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/facts/rehearsal.h"
#include "collector/torch/facts/self_check.h"
#include "collector/torch/facts/version_gate.h"
#include "collector/torch/hooks/allocator_hooks.h"
#include "collector/torch/hooks/new_objects.h"
#include "collector/torch/install_hooks.h"
#include "collector/torch/keys/proof.h"
#include "collector/torch/keys/reference_watch.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/operators/operator_events.h"
#include "collector/torch/operators/operator_wrap.h"
#include "collector/torch/records/census.h"
#include "collector/torch/records/gpu_memory.h"
#include "collector/torch/records/running_node.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/records/tensor_records.h"
#include "collector/torch/state/known_blocks.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/small_cuda_blocks.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

/// An explicit mark inside a wrapped operator replaces the operator's own record.
void note_explicit() noexcept {
  TorchThread* thread = torch_thread();
  if (thread != nullptr && thread->in_cycle_op != 0) thread->explicit_inside = true;
}

const void* tensor_of(void* tensor, void* object) noexcept {
  if (tensor != nullptr || object == nullptr) return tensor;
  return reinterpret_cast<const void*>(layout::word(object, layout::kVariableTensor));
}

std::uint64_t mark_name(const char* name) noexcept { return agent::intern(name, strlen(name)); }

void gather(std::int64_t graph, std::int64_t key, void* tensor, void* object) noexcept {
  agent::Inside inside;
  note_explicit();
  const void* impl = tensor_of(tensor, object);
  if (impl == nullptr) return;
  key_gathered({graph, key}, {impl, layout::storage_of(impl)}, mark_name("gather"), wire::kKeyExplicit);
}

void wait(std::int64_t graph, std::int64_t key, void* tensor, void* object) noexcept {
  agent::Inside inside;
  note_explicit();
  const void* impl = tensor_of(tensor, object);
  if (impl == nullptr) return;
  key_waited({graph, key}, {impl, layout::storage_of(impl)}, mark_name("wait"), wire::kKeyExplicit);
}

void persist(std::int64_t graph, std::int64_t key) noexcept {
  agent::Inside inside;
  key_persistent({graph, key}, mark_name("persist"), wire::kKeyExplicit);
}

void release_begin(std::int64_t graph, std::int64_t key, std::int32_t users) noexcept {
  agent::Inside inside;
  note_explicit();
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  thread->declared = users;  // a thread runs only one release at a time
  key_release_begins({graph, key}, users, mark_name("release"), wire::kKeyExplicit);
  ++thread->in_cycle_op;
}

void release_end(std::int64_t graph, std::int64_t key) noexcept {
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr || thread->in_cycle_op == 0) return;
  --thread->in_cycle_op;
  key_release_ends({graph, key}, thread->declared, mark_name("release"), wire::kKeyExplicit);
}

void census(void* tensor, void* object) noexcept {
  agent::Inside inside;
  const void* impl = tensor_of(tensor, object);
  const void* storage = impl != nullptr ? layout::storage_of(impl) : nullptr;
  if (storage == nullptr) return;
  // A census makes no storage known to the recorder: a storage that is too small to be tracked by size is tracked from
  // here on.
  if (!agent::full_detail() && layout::bytes_of(storage) < kFollowedBytes) {
    watch_small(storage);
    follow_from_now(storage);
  }
  run_census(wire::CensusTrigger::kCall, storage, 0);
}

void before_exact_point() noexcept {
  write_small_sums();
  if (proving()) write_unseen_touches();
  if (watching_counts()) check_counts();
}

void gpu_work_begins() noexcept { settle_releases(Settling::kNoCensus); }

void leave() noexcept {
  try {
    stop_operator_events();
    stop_wrapping();
  } catch (const std::exception&) {  // no memory for torch's lists: callbacks that stay do nothing
  }
  restore_all_slots();
  leave_proof();
  leave_reference_watch();
}

void forget(void (*empty_tables)()) noexcept {
  empty_torch_threads(empty_tables);
  forget_release_keys();
  forget_small_blocks();
  forget_operator_events();
}

const agent::TorchProvider kProvider = {sizeof(agent::TorchProvider),
                                        gather,
                                        wait,
                                        persist,
                                        release_begin,
                                        release_end,
                                        census,
                                        give_back_torch_thread,
                                        gpu_touch,
                                        before_exact_point,
                                        gpu_work_begins,
                                        write_gpu_blocks,
                                        leave,
                                        forget,
                                        stack_of_gpu_call,
                                        argument_of};

// Detail `oom`: no hook sees what a gathered parameter's tensors do, so nothing is said of parameters.
void ignore_key(std::int64_t, std::int64_t, void*, void*) noexcept {}
void ignore_key(std::int64_t, std::int64_t) noexcept {}
void ignore_key(std::int64_t, std::int64_t, std::int32_t) noexcept {}
void ignore_tensor(void*, void*) noexcept {}
void ignore_touch(const void*, std::uint64_t, const char*) noexcept {}
void ignore() noexcept {}

void forget_blocks_alone(void (*empty_tables)()) noexcept {
  empty_torch_threads(empty_tables);
  forget_small_blocks();
}

const agent::TorchProvider kProviderOfBlocks = {sizeof(agent::TorchProvider),
                                                ignore_key,
                                                ignore_key,
                                                ignore_key,
                                                ignore_key,
                                                ignore_key,
                                                ignore_tensor,
                                                give_back_torch_thread,
                                                ignore_touch,
                                                write_small_sums,
                                                ignore,
                                                write_gpu_blocks,
                                                restore_all_slots,
                                                forget_blocks_alone,
                                                stack_of_gpu_call,
                                                argument_of};

void start_with_blocks() {
  const char* why = nullptr;
  if (!make_block_table()) {
    agent::refuse("no memory for the tables of the torch provider: nothing is recorded in this process");
    return;
  }
  agent::show_small_blocks(block_table(), small_cuda_regions());
  if (!hook_allocators(&why)) {
    elf::undo();
    agent::refuse(why);
    return;
  }
  agent::register_torch_provider(&kProviderOfBlocks);
}

void start() {
  if (const char* why = other_torch_version(); why != nullptr) {
    agent::refuse(why);
    return;
  }
  agent::set_torch_version(TORCH_VERSION);
  if (const char* why = self_check(); why != nullptr) {
    agent::refuse(why);
    return;
  }
  if (agent::only_blocks()) return start_with_blocks();
  const char* why = nullptr;
  if (!make_sharing_table() || !make_release_keys() || !make_block_table()) {
    agent::refuse("no memory for the tables of the torch provider: nothing is recorded in this process");
    return;
  }
  agent::show_small_blocks(block_table(), small_cuda_regions());
  if (!prepare_census()) {
    agent::refuse("this torch does not export the table of its views: nothing is recorded in this process");
    return;
  }
  if (!prepare_running_node()) {
    agent::diagnose(wire::DiagnosticCode::kNote, "this torch does not say which of autograd's nodes runs: not named");
  }
  prepare_proof();
  prepare_reference_watch();
  const Rehearsed rehearsed = rehearse();
  if (rehearsed.refusal != nullptr) {
    agent::refuse(rehearsed.refusal);
    return;
  }
  if (!install_hooks(rehearsed.functional, &why)) {
    elf::undo();
    agent::refuse(why);
    return;
  }
  start_wrapping();
  start_operator_events();
  agent::register_torch_provider(&kProvider);
}

}  // namespace
}  // namespace dcmt::torch_provider

extern "C" __attribute__((visibility("default"))) void dcmt_provider_start() {
  try {
    dcmt::torch_provider::start();
  } catch (const std::exception& error) {
    char text[512];
    snprintf(text, sizeof text, "the torch provider could not start: %s", error.what());
    dcmt::agent::refuse(text);
  }
}
