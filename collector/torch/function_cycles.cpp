#include "collector/torch/function_cycles.h"

#include <atomic>

#include "collector/torch/layout.h"
#include "collector/torch/release_keys.h"

namespace dcmt::torch_provider {
namespace {

using agent::FunctionCall;
using agent::FunctionEvent;
using agent::FunctionRole;

/// Stacks of births that no function of the table is on, so that each is walked for it once.
constinit std::atomic<std::uint64_t> g_plain_stacks[4096] = {};

FunctionCall function_here(FunctionEvent event, const void* object) noexcept {
  const agent::PythonProvider* python = agent::python_provider();
  return python != nullptr ? python->function_here(event, object) : FunctionCall{};
}

/// Storages have no number of their own: they get one when they are gathered first.
KeyName key_of(const FunctionCall& call, const void* storage) noexcept {
  KeyName name{call.graph, call.number};
  if (call.numbered || key_of_storage(storage, call.graph, name)) return name;
  static constinit std::atomic<std::int64_t> next{0};
  return {call.graph, next.fetch_add(1, std::memory_order_relaxed)};
}

/// Again once the name is known.
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
  const KeyName name = key_of(call, storage);
  write_parameter(name, call);
  if (call.persistent) key_persistent(name, call.function, wire::kKeyFunction);
  key_gathered(name, {tensor, storage}, call.function, wire::kKeyFunction);
}

/// Parameters are partitioned by the same functions before they were ever gathered: that is no release.
bool begin_release(FunctionCall& call, const void* storage) noexcept {
  KeyName name{call.graph, call.number};
  const bool known = call.numbered || key_of_storage(storage, call.graph, name);
  if (!known || !key_is_gathered(name)) return false;
  call.numbered = true;
  call.number = name.key;
  key_release_begins(name, 1, call.function, wire::kKeyFunction);
  return true;
}

void end_release(const FunctionCall& call) noexcept {
  key_release_ends({call.graph, call.number}, 1, call.function, wire::kKeyFunction);
}

}  // namespace

MovedByFunction::MovedByFunction(const void* tensor) noexcept : tensor_(tensor) {
  if (!agent::recording() || layout::storage_of(tensor) == nullptr) return;
  agent::Inside inside;
  call_ = function_here(FunctionEvent::kMove, layout::python_object_of(tensor));
  // A tensor's storage changes from use to use: only a number tells which parameter it is.
  if (!call_.numbered) call_.role = FunctionRole::kNone;
  const bool release = call_.role == FunctionRole::kRelease;
  if (release && !begin_release(call_, nullptr)) call_.role = FunctionRole::kNone;
}

MovedByFunction::~MovedByFunction() {
  if (call_.role == FunctionRole::kNone || !agent::recording()) return;
  agent::Inside inside;
  const void* storage = layout::storage_of(tensor_);
  if (call_.role == FunctionRole::kRelease) {
    end_release(call_);
  } else if (layout::bytes_of(storage) != 0) {
    gathered(call_, tensor_, storage);
  }
}

ResizedByFunction::ResizedByFunction(const void* storage) noexcept : storage_(storage) {
  if (!agent::recording()) return;
  agent::Inside inside;
  call_ = function_here(FunctionEvent::kResize, nullptr);
  const bool release = call_.role == FunctionRole::kRelease;
  if (release && !begin_release(call_, storage)) call_.role = FunctionRole::kNone;
}

ResizedByFunction::~ResizedByFunction() {
  if (call_.role == FunctionRole::kNone || !agent::recording()) return;
  agent::Inside inside;
  if (call_.role == FunctionRole::kRelease) {
    end_release(call_);
  } else if (layout::bytes_of(storage_) != 0) {
    gathered(call_, nullptr, storage_);
  }
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
