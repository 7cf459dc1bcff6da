#include "collector/torch/operators/operator_calls.h"

#include <algorithm>

#include "collector/agent/provider.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

int place_of(const c10::FunctionSchema& schema, const std::string& name) {
  if (name.empty()) return -1;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    if (schema.arguments()[i].name() == name) return static_cast<int>(i);
  }
  return -1;
}

std::int64_t integer_argument(const torch::jit::Stack& stack, std::size_t base, int place, std::int64_t otherwise) {
  if (place < 0) return otherwise;
  const c10::IValue& value = stack[base + static_cast<std::size_t>(place)];
  return value.isInt() ? value.toInt() : otherwise;
}

const void* tensor_at(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() ? value.toTensor().unsafeGetTensorImpl() : nullptr;
}

}  // namespace

AliasWatch::AliasWatch(const c10::FunctionSchema& schema)
    : name_(c10::toString(schema.operator_name())), schema_(c10::toString(schema)), returns_(schema.returns().size()) {
  for (std::size_t output = 0; output < std::min<std::size_t>(returns_, 8); ++output) {
    const c10::AliasInfo* result = schema.returns()[output].alias_info();
    for (std::size_t i = 0; result != nullptr && i < std::min<std::size_t>(schema.arguments().size(), 8); ++i) {
      const c10::AliasInfo* argument = schema.arguments()[i].alias_info();
      if (argument != nullptr && argument->beforeSets() == result->beforeSets()) declared_ |= bit(output, i);
    }
  }
}

/// Addresses only: the arguments stay on the stack until the results are there, so no address is another's.
AliasWatch::Storages AliasWatch::arguments(const torch::jit::Stack& stack, std::size_t base) const noexcept {
  Storages found{};
  for (std::size_t i = 0; i < found.size() && base + i < stack.size(); ++i) found[i] = storage_at(stack[base + i]);
  return found;
}

void AliasWatch::inspect(const Storages& arguments, const torch::jit::Stack& stack) noexcept {
  if (stack.size() < returns_) return;
  std::uint64_t observed = 0;
  for (std::size_t output = 0; output < std::min<std::size_t>(returns_, 8); ++output) {
    const void* storage = storage_at(stack[stack.size() - returns_ + output]);
    for (std::size_t i = 0; storage != nullptr && i < arguments.size(); ++i) {
      if (arguments[i] == storage) observed |= bit(output, i);
    }
  }
  if (last_.exchange(observed, std::memory_order_relaxed) == observed) return;
  if (left_.load(std::memory_order_relaxed) <= 0 || left_.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  const std::uint64_t name = agent::intern(name_.data(), name_.size());
  const std::uint64_t schema = agent::intern(schema_.data(), schema_.size());
  auto* record = static_cast<wire::OperatorAliasRecord*>(
      agent::begin_record(wire::RecordType::kOperatorAlias, sizeof(wire::OperatorAliasRecord), 0));
  if (record == nullptr) return;
  record->name = name;
  record->schema = schema;
  record->declared = declared_;
  record->observed = observed;
  agent::commit_record(record);
}

const void* AliasWatch::storage_at(const c10::IValue& value) noexcept {
  const void* tensor = tensor_at(value);
  return tensor != nullptr ? layout::storage_of(tensor) : nullptr;
}

OperatorCalls::OperatorCalls(const OperatorRow& row, const c10::FunctionSchema& schema)
    : row_(row),
      places_{place_of(schema, row.graph), place_of(schema, row.key), place_of(schema, row.count),
              place_of(schema, row.tensor)},
      name_(schema.operator_name().name),
      aliases_(schema) {}

void OperatorCalls::call(BoxedFunction* real, c10::OperatorKernel* functor, const c10::OperatorHandle& op,
                         c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (!agent::recording()) {
    real(functor, op, keys, stack);
    return;
  }
  const std::size_t base = stack->size() - op.schema().arguments().size();
  const AliasWatch::Storages arguments = aliases_.arguments(*stack, base);
  if (row_.role == OperatorRole::kObserve) {
    real(functor, op, keys, stack);
    inspect_aliases(arguments, *stack);
    return;
  }
  const KeyName key{integer_argument(*stack, base, places_.graph, 0), integer_argument(*stack, base, places_.key, 0)};
  const auto declared = static_cast<std::int32_t>(integer_argument(*stack, base, places_.count, 1));
  const void* argument =
      places_.tensor >= 0 ? tensor_at((*stack)[base + static_cast<std::size_t>(places_.tensor)]) : nullptr;

  enter(key, declared);
  try {
    real(functor, op, keys, stack);
  } catch (...) {
    leave(key, declared, nullptr, wire::kKeyUnwound);
    throw;
  }
  const void* output = stack->empty() ? nullptr : tensor_at(stack->back());
  leave(key, declared, argument != nullptr ? argument : output, 0);
  inspect_aliases(arguments, *stack);
}

void OperatorCalls::inspect_aliases(const AliasWatch::Storages& arguments, const torch::jit::Stack& stack) noexcept {
  agent::Inside inside;
  aliases_.inspect(arguments, stack);
}

void OperatorCalls::enter(KeyName key, std::int32_t declared) const noexcept {
  agent::Inside inside;
  if (TorchThread* thread = torch_thread()) {
    ++thread->in_cycle_op;
    thread->explicit_inside = false;
  }
  if (row_.role == OperatorRole::kRelease) key_release_begins(key, declared, name_id(), 0);
}

void OperatorCalls::leave(KeyName key, std::int32_t declared, const void* tensor, std::uint32_t flags) const noexcept {
  agent::Inside inside;
  if (TorchThread* thread = torch_thread()) {
    if (thread->in_cycle_op == 0) return;  // the operator was entered in an earlier recording
    --thread->in_cycle_op;
    // If the program makes a mark for its own cycle inside the operator, that mark has priority.
    const bool marked = thread->explicit_inside;
    thread->explicit_inside = false;
    if (marked) return;
  }
  switch (row_.role) {
    case OperatorRole::kGather:
      if (tensor != nullptr) key_gathered(key, {tensor, layout::storage_of(tensor)}, name_id(), flags);
      break;
    case OperatorRole::kWait:
      if (tensor != nullptr) key_waited(key, {tensor, layout::storage_of(tensor)}, name_id(), flags);
      break;
    case OperatorRole::kPersist:
      key_persistent(key, name_id(), flags);
      break;
    case OperatorRole::kRelease:
      key_release_ends(key, declared, name_id(), flags);
      break;
    case OperatorRole::kObserve:
      break;
  }
}

std::uint64_t OperatorCalls::name_id() const noexcept { return agent::intern(name_.data(), name_.size()); }

}  // namespace dcmt::torch_provider
