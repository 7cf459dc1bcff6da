#include "collector/torch/operator_wrap.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <string.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collector/agent/provider.h"
#include "collector/torch/layout.h"
#include "collector/torch/operator_events.h"
#include "collector/torch/operator_table.h"
#include "collector/torch/release_keys.h"
#include "collector/torch/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

/// Where the facts of a cycle stand among the operator's arguments; -1: not there.
struct ArgumentPlaces {
  int graph = -1;
  int key = -1;
  int count = -1;
  int tensor = -1;
};

struct WantedOperator {
  c10::OperatorHandle handle;
  const OperatorRow* row;
  bool cpu_wrapped = false;
  bool cuda_wrapped = false;
};

/// Operators that begin until kernels that are still missing count as not to come: of an operator of the table that
/// has none yet, and of any other.
constexpr std::uint64_t kLastLook = std::uint64_t{1} << 20;
constexpr std::uint64_t kLastSideLook = std::uint64_t{1} << 12;

/// What detail `full` sees of operators that are in no table and not torch's own.
const OperatorRow& unlisted_row() {
  static const auto* row = new OperatorRow{"*", OperatorRole::kObserve, "", "", "", ""};
  return *row;
}

struct Wrapping {
  std::mutex mutex;
  std::vector<OperatorRow> table;
  std::vector<std::shared_ptr<WantedOperator>> wanted;
  std::vector<std::unique_ptr<torch::Library>> libraries;
  std::optional<c10::RegistrationHandleRAII> listening;
};

// Leaked on purpose: wrappers may be called until the process ends.
Wrapping& wrapping() {
  static auto* state = new Wrapping();
  return *state;
}

std::atomic<bool> g_wanted{false};
std::atomic<std::uint64_t> g_begun_since{0};  ///< operators begun since the last registration

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

/// Which outputs of an operator share the storages of which arguments, beside what its schema says.
class AliasWatch {
 public:
  using Storages = std::array<const void*, 8>;

  explicit AliasWatch(const c10::FunctionSchema& schema)
      : name_(c10::toString(schema.operator_name())),
        schema_(c10::toString(schema)),
        returns_(schema.returns().size()) {
    for (std::size_t output = 0; output < std::min<std::size_t>(returns_, 8); ++output) {
      const c10::AliasInfo* result = schema.returns()[output].alias_info();
      for (std::size_t i = 0; result != nullptr && i < std::min<std::size_t>(schema.arguments().size(), 8); ++i) {
        const c10::AliasInfo* argument = schema.arguments()[i].alias_info();
        if (argument != nullptr && argument->beforeSets() == result->beforeSets()) declared_ |= bit(output, i);
      }
    }
  }

  /// Addresses only: the arguments stay on the stack until the results are there, so no address is another's.
  Storages arguments(const torch::jit::Stack& stack, std::size_t base) const noexcept {
    Storages found{};
    for (std::size_t i = 0; i < found.size() && base + i < stack.size(); ++i) found[i] = storage_at(stack[base + i]);
    return found;
  }

  void look(const Storages& arguments, const torch::jit::Stack& stack) noexcept {
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

 private:
  static constexpr std::uint64_t bit(std::size_t output, std::size_t argument) {
    return std::uint64_t{1} << (8 * output + argument);
  }
  static const void* storage_at(const c10::IValue& value) noexcept {
    const void* tensor = tensor_at(value);
    return tensor != nullptr ? layout::storage_of(tensor) : nullptr;
  }

  const std::string name_, schema_;
  const std::size_t returns_;
  std::uint64_t declared_ = 0;
  std::atomic<std::uint64_t> last_{~std::uint64_t{0}};  ///< what the call before showed
  std::atomic<int> left_{16};                           ///< records to come
};

/// The kernel in front of the one that was registered before. Torch calls it with the arguments on `stack`; whatever
/// the real kernel throws passes through.
class CycleKernel final : public c10::OperatorKernel {
 public:
  CycleKernel(c10::SafeKernelFunction real, const OperatorRow& row, ArgumentPlaces places,
              const c10::FunctionSchema& schema)
      : real_(std::move(real)), row_(row), places_(places), name_(schema.operator_name().name), aliases_(schema) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    if (!agent::recording()) {
      real_.callBoxed(op, keys, stack);
      return;
    }
    const std::size_t base = stack->size() - op.schema().arguments().size();
    const AliasWatch::Storages arguments = aliases_.arguments(*stack, base);
    if (row_.role == OperatorRole::kObserve) {
      real_.callBoxed(op, keys, stack);
      look_at_aliases(arguments, *stack);
      return;
    }
    const KeyName key{integer_argument(*stack, base, places_.graph, 0), integer_argument(*stack, base, places_.key, 0)};
    const auto declared = static_cast<std::int32_t>(integer_argument(*stack, base, places_.count, 1));
    const void* argument =
        places_.tensor >= 0 ? tensor_at((*stack)[base + static_cast<std::size_t>(places_.tensor)]) : nullptr;

    enter(key, declared);
    try {
      real_.callBoxed(op, keys, stack);
    } catch (...) {
      leave(key, declared, nullptr, wire::kKeyUnwound);
      throw;
    }
    const void* output = stack->empty() ? nullptr : tensor_at(stack->back());
    leave(key, declared, argument != nullptr ? argument : output, 0);
    look_at_aliases(arguments, *stack);
  }

 private:
  void look_at_aliases(const AliasWatch::Storages& arguments, const torch::jit::Stack& stack) noexcept {
    agent::Inside inside;
    aliases_.look(arguments, stack);
  }

  void enter(KeyName key, std::int32_t declared) const noexcept {
    agent::Inside inside;
    if (TorchThread* thread = torch_thread()) {
      ++thread->in_cycle_op;
      thread->explicit_inside = false;
    }
    if (row_.role == OperatorRole::kRelease) key_release_begins(key, declared, name_id(), 0);
  }

  void leave(KeyName key, std::int32_t declared, const void* tensor, std::uint32_t flags) const noexcept {
    agent::Inside inside;
    if (TorchThread* thread = torch_thread()) {
      --thread->in_cycle_op;
      // A program that marks its own cycle inside the operator knows better: its mark is the one that counts.
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

  std::uint64_t name_id() const noexcept { return agent::intern(name_.data(), name_.size()); }

  const c10::SafeKernelFunction real_;
  const OperatorRow& row_;
  const ArgumentPlaces places_;
  const std::string name_;
  AliasWatch aliases_;
};

class Listener final : public c10::OpRegistrationListener {
 public:
  // The dispatcher holds its lock here: remember, and ask for the operators that come.
  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    Wrapping& state = wrapping();
    const char* const name = op.operator_name().name.c_str();
    const OperatorRow* row = find_operator(state.table, name);
    if (row == nullptr && agent::full_detail() && !is_of_torch(name)) row = &unlisted_row();
    if (row == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(state.mutex);
      state.wanted.push_back(std::make_shared<WantedOperator>(WantedOperator{op, row}));
    }
    g_begun_since.store(0, std::memory_order_relaxed);
    g_wanted.store(true, std::memory_order_relaxed);
    switch_operator_events();
  }
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    Wrapping& state = wrapping();
    const std::lock_guard<std::mutex> lock(state.mutex);
    std::erase_if(state.wanted, [&](const auto& wanted) { return wanted->handle == op; });
  }
};

/// Torch warns once when a kernel is registered over another one; the job's output must not change.
class QuietWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

bool wrap_for(const WantedOperator& wanted, c10::DispatchKey key) {
  if (!wanted.handle.hasSchema()) return false;
  // A backend kernel of ours in front of a composite one would take autograd and vmap away from it.
  const bool direct = wanted.handle.hasKernelForDispatchKey(key) ||
                      wanted.handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
  if (!direct || !wanted.handle.hasComputedKernelForDispatchKey(key)) return false;
  const auto& schema = wanted.handle.schema();
  const ArgumentPlaces places{place_of(schema, wanted.row->graph), place_of(schema, wanted.row->key),
                              place_of(schema, wanted.row->count), place_of(schema, wanted.row->tensor)};
  const std::string full_name = schema.operator_name().name;
  const std::size_t colon = full_name.find("::");
  if (colon == std::string::npos) return false;
  const std::string overload = schema.operator_name().overload_name;
  const std::string name = full_name.substr(colon + 2) + (overload.empty() ? "" : "." + overload);

  QuietWarnings quiet;
  const c10::WarningUtils::WarningHandlerGuard warnings(&quiet);
  auto library =
      std::make_unique<torch::Library>(torch::Library::IMPL, full_name.substr(0, colon), key, "dc-memtrace", 0);
  library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<CycleKernel>(
                                  wanted.handle.getComputedKernelForDispatchKey(key), *wanted.row, places, schema)));
  wrapping().libraries.push_back(std::move(library));
  return true;
}

}  // namespace

void start_wrapping() {
  Wrapping& state = wrapping();
  state.table = load_operator_table();
  if (state.table.empty() && !agent::full_detail()) return;
  state.listening.emplace(c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>()));
}

bool wrapping_wanted() noexcept { return g_wanted.load(std::memory_order_relaxed); }

bool wrapping_due(const char* op) noexcept {
  if (!wrapping_wanted()) return false;
  const std::uint64_t begun = g_begun_since.fetch_add(1, std::memory_order_relaxed) + 1;
  // Kernels come one by one after their operator's registration, without an event: look often at first, then less,
  // and always when a library's own operator begins. The call that has begun sees a kernel registered now.
  return (begun & (begun - 1)) == 0 || strncmp(op, "aten::", 6) != 0;
}

void wrap_registered_operators() {
  // One thread wraps at a time; the operators of one that finds it busy are wrapped by the time it comes again.
  static std::atomic<bool> busy{false};
  if (busy.exchange(true, std::memory_order_acquire)) return;
  Wrapping& state = wrapping();
  std::vector<std::shared_ptr<WantedOperator>> wanted;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    wanted = state.wanted;
  }
  const std::uint64_t begun = g_begun_since.load(std::memory_order_relaxed);
  bool all = true;
  for (const auto& entry : wanted) {
    try {
      if (!entry->cpu_wrapped) entry->cpu_wrapped = wrap_for(*entry, c10::DispatchKey::CPU);
      if (!entry->cuda_wrapped) entry->cuda_wrapped = wrap_for(*entry, c10::DispatchKey::CUDA);
    } catch (const std::exception& error) {
      agent::diagnose(wire::DiagnosticCode::kProviderOff, error.what());
      entry->cpu_wrapped = entry->cuda_wrapped = true;
    }
    const bool listed = entry->row != &unlisted_row();
    const std::uint64_t last = listed && !entry->cpu_wrapped && !entry->cuda_wrapped ? kLastLook : kLastSideLook;
    all = all && (begun >= last || (entry->cpu_wrapped && entry->cuda_wrapped));
  }
  if (all) g_wanted.store(false, std::memory_order_relaxed);
  busy.store(false, std::memory_order_release);
}

}  // namespace dcmt::torch_provider
