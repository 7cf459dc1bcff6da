#include "collector/torch/keys/function_cycles.h"

#include <atomic>

#include "collector/torch/facts/layout.h"
#include "collector/torch/keys/release_keys.h"

namespace dcmt::torch_provider {
namespace {

using agent::FunctionCall;
using agent::FunctionEvent;
using agent::FunctionRole;

/// Stacks of births without a function of the table, so that each stack is walked only once.
constinit std::atomic<std::uint64_t> g_plain_stacks[4096] = {};

FunctionCall function_here(FunctionEvent event, const void* object) noexcept {
  const agent::PythonProvider* python = agent::python_provider();
  return python != nullptr ? python->function_here(event, object) : FunctionCall{};
}

/// Storages have no number of their own: they get one at their first gather. A number below 0: it has none.
KeyName key_of(const FunctionCall& call, const void* storage, bool gathers) noexcept {
  return {call.graph, call.numbered ? call.number : number_of_storage(storage, gathers)};
}

/// Writes the record again once the name is available.
void write_parameter(KeyName name, const FunctionCall& call) noexcept {
  const std::int64_t words[] = {name.graph, name.key, static_cast<std::int64_t>(call.mechanism)};
  const std::uint64_t id = agent::hash_bytes(words, sizeof words, call.name);
  if (!agent::first_sight(id)) return;
  auto* record = static_cast<wire::ParameterRecord*>(
      agent::begin_record(wire::RecordType::kParameter, sizeof(wire::ParameterRecord), 0));
  if (record == nullptr) {
    agent::forget(id);
    return;
  }
  record->graph = name.graph;
  record->key = name.key;
  record->name = call.name;
  record->mechanism = call.mechanism;
  agent::commit_record(record);
}

void gathered(const FunctionCall& call, const void* tensor, const void* storage) noexcept {
  const KeyName name = key_of(call, storage, /*gathers=*/true);
  if (!call.numbered && name.key < 0) return;
  write_parameter(name, call);
  if (call.persistent) key_persistent(name, call.function, wire::kKeyFunction);
  key_gathered(name, {tensor, storage}, call.function, wire::kKeyFunction);
}

}  // namespace

/// The same functions partition parameters before their first gather: that is no release.
void CycleByFunction::begin(const FunctionCall& call, const void* storage) noexcept {
  if (call.role == FunctionRole::kRelease) {
    released_ = key_of(call, storage, /*gathers=*/false);
    if (!key_is_gathered(released_)) return;
    key_release_begins(released_, 1, call.function, wire::kKeyFunction);
  }
  call_ = call;
}

CycleByFunction::CycleByFunction(Moved moved) noexcept : tensor_(moved.tensor), storage_(nullptr) {
  if (!agent::recording() || layout::storage_of(tensor_) == nullptr) return;
  agent::Inside inside;
  const FunctionCall call = function_here(FunctionEvent::kMove, layout::python_object_of(tensor_));
  // A tensor's storage changes from use to use, so only a number identifies the parameter.
  if (call.numbered) begin(call, nullptr);
}

CycleByFunction::CycleByFunction(Resized resized) noexcept : tensor_(nullptr), storage_(resized.storage) {
  if (!agent::recording()) return;
  agent::Inside inside;
  begin(function_here(FunctionEvent::kResize, nullptr), storage_);
}

CycleByFunction::~CycleByFunction() {
  if (call_.role == FunctionRole::kNone || !agent::recording()) return;
  agent::Inside inside;
  if (call_.role == FunctionRole::kRelease) {
    key_release_ends(released_, 1, call_.function, wire::kKeyFunction);
    return;
  }
  const void* storage = tensor_ != nullptr ? layout::storage_of(tensor_) : storage_;
  if (layout::bytes_of(storage) != 0) gathered(call_, tensor_, storage);
}

void born_in_function(const void* tensor, std::uint64_t stack) noexcept {
  const agent::PythonProvider* python = agent::python_provider();
  if (stack == 0 || python == nullptr || !python->births_by_functions()) return;
  std::atomic<std::uint64_t>& plain = g_plain_stacks[stack % 4096];
  if (plain.load(std::memory_order_relaxed) == stack) return;
  const FunctionCall call = python->function_here(FunctionEvent::kBirth, nullptr);
  if (call.role == FunctionRole::kGather) {
    gathered(call, tensor, layout::storage_of(tensor));
  } else {
    plain.store(stack, std::memory_order_relaxed);
  }
}

}  // namespace dcmt::torch_provider
