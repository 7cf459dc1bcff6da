#include "collector/torch/operators/operator_wrap.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "collector/agent/provider.h"
#include "collector/torch/operators/dispatch_entry.h"
#include "collector/torch/operators/operator_calls.h"
#include "collector/torch/operators/operator_table.h"
#include "collector/torch/records/callback_switch.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::size_t kKeys = 2;
constexpr c10::DispatchKey kKey[kKeys] = {c10::DispatchKey::CPU, c10::DispatchKey::CUDA};

/// After so many begun operators, kernels that are still missing are no longer expected: for an operator of the table
/// that has no kernel yet, and for any other.
constexpr std::uint64_t kExpectedUntil = std::uint64_t{1} << 20;
constexpr std::uint64_t kUnlistedExpectedUntil = std::uint64_t{1} << 12;
/// Once in so many begun operators, one wrapped operator is checked again.
constexpr std::uint64_t kCheckEvery = 64;

constexpr std::size_t kMostOperators = 1u << 14;

/// The row for operators that are neither in a table nor torch's own; detail `full` observes them.
const OperatorRow& unlisted_row() {
  static const auto* row = new OperatorRow{"*", OperatorRole::kObserve, "", "", "", ""};
  return *row;
}

enum class State : std::uint32_t { kNotYet, kWrapped, kNever };

/// An operator whose kernels are to be wrapped. It lives for ever, because another thread may use it.
struct WantedOperator {
  WantedOperator(const c10::OperatorHandle& op, const OperatorRow& table_row)
      : handle(op), row(&table_row), calls(table_row, op.schema()), name(op.schema().name().c_str()) {
    for (const c10::Argument& argument : op.schema().arguments()) {
      symbolic = symbolic || argument.real_type()->str().find("SymInt") != std::string::npos;
    }
  }

  const c10::OperatorHandle handle;
  const OperatorRow* const row;
  OperatorCalls calls;
  const char* const name;           ///< for identity only, as in RecordFunction
  bool symbolic = false;            ///< an argument can be a symbolic integer
  std::atomic<bool> gone{false};    ///< no longer registered
  std::atomic<bool> asleep{false};  ///< from an earlier recording, and not wanted in this one
  std::atomic<State> state[kKeys] = {};
  // For a wrapped kernel: the place of the hook.
  std::atomic<BoxedFunction* const*> place[kKeys] = {};
  KernelWords before[kKeys] = {};  ///< what this key's wrapping found there; empty if another key's wrapping did it
  bool agreed[kKeys] = {};         ///< torch has confirmed the kernel; under the dispatcher's lock
  // Only for symbolic operators: they are wrapped before their first call or never.
  std::atomic<std::uint32_t> begun{0};       ///< calls that have begun
  std::atomic<TorchThread*> first{nullptr};  ///< thread of the first call
  std::atomic<bool> being_replaced{false};
};

std::vector<OperatorRow>& table() {
  static auto* rows = new std::vector<OperatorRow>();
  return *rows;
}

// Written only under the dispatcher's lock.
std::atomic<WantedOperator*> g_operators[kMostOperators];
std::atomic<std::size_t> g_operator_count{0};

bool g_may_be_running = false;  ///< the listener gets operators whose calls may be running; under the dispatcher's lock
std::unique_ptr<c10::RegistrationHandleRAII> g_listening;
std::atomic<std::uint64_t> g_begun_since{0};  ///< operators begun since the last registration
std::atomic<std::uint64_t> g_checked{0};

template <class Visit>
void each_operator(const Visit& visit) {
  const std::size_t count = g_operator_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    WantedOperator& wanted = *g_operators[i].load(std::memory_order_relaxed);
    if (!wanted.gone.load(std::memory_order_acquire) && !wanted.asleep.load(std::memory_order_acquire)) visit(wanted);
  }
}

/// Maps an operator's identity to the data of its hooks. It is filled under the dispatcher's lock, before the hook
/// exists.
struct Found {
  std::atomic<const void*> identity;
  std::atomic<WantedOperator*> wanted;
  std::atomic<BoxedFunction*> real[kKeys];
};
Found g_found[2 * kMostOperators];

Found& find(const void* identity) noexcept {
  std::size_t place = (reinterpret_cast<std::uint64_t>(identity) >> 4) * 0x9E3779B97F4A7C15u >> 49;
  static_assert(2 * kMostOperators == 1u << (64 - 49));
  for (;; place = (place + 1) % (2 * kMostOperators)) {
    const void* there = g_found[place].identity.load(std::memory_order_acquire);
    if (there == identity || there == nullptr) return g_found[place];
  }
}

template <std::size_t kIndex>
void hook(c10::OperatorKernel* functor, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
          torch::jit::Stack* stack) {
  Found& found = find(identity_of(op));
  BoxedFunction* const real = found.real[kIndex].load(std::memory_order_acquire);
  // A kernel that serves all backends is also called for tensors without memory. The highest key does not decide:
  // Python's dispatcher passes all keys of the arguments, those of autograd too.
  if (!keys.has(kKey[0]) && !keys.has(kKey[1])) return real(functor, op, keys, stack);
  found.wanted.load(std::memory_order_acquire)->calls.call(real, functor, op, keys, stack);
}
constexpr BoxedFunction* kHook[kKeys] = {hook<0>, hook<1>};

bool is_hook(BoxedFunction* function) noexcept { return function == kHook[0] || function == kHook[1]; }

/// Called without the lock, so the operator and its table may be gone.
bool is_hooked(BoxedFunction* const* place) noexcept {
  BoxedFunction* there = nullptr;
  return read_memory(place, &there, sizeof there) && is_hook(there);
}

void say_not_wrapped(const WantedOperator& wanted, const char* why) noexcept {
  char text[512];
  snprintf(text, sizeof text, "the operator %s is not wrapped, so its calls are seen without their arguments: %s",
           wanted.name, why);
  agent::diagnose(wire::DiagnosticCode::kNote, text);
}

/// Counts the begin of a symbolic operator's call. While another thread replaces its kernel, which takes a few stores,
/// the call must wait.
void count_begin(const char* name) noexcept {
  constexpr int kPatience = 4096;
  each_operator([name](WantedOperator& wanted) {
    if (!wanted.symbolic || wanted.name != name) return;
    if (wanted.begun.fetch_add(1, std::memory_order_seq_cst) == 0) {
      wanted.first.store(torch_thread(), std::memory_order_relaxed);
    }
    for (int i = 0; i < kPatience && wanted.being_replaced.load(std::memory_order_seq_cst); ++i) {
    }
  });
}

/// Requires the dispatcher's lock. No thread may be inside a call of it: no call has begun, or only the one that begins
/// here.
bool replace_before_first_call(WantedOperator& wanted, DispatchedKernel& kernel, BoxedFunction* ours) noexcept {
  wanted.being_replaced.store(true, std::memory_order_seq_cst);
  const std::uint32_t begun = wanted.begun.load(std::memory_order_seq_cst);
  const bool alone =
      begun == 0 || (begun == 1 && wanted.first.load(std::memory_order_relaxed) == torch_thread_if_any());
  const bool replaced = alone && is_observed(wanted.handle) && kernel.replace(ours);
  wanted.being_replaced.store(false, std::memory_order_seq_cst);
  return replaced;
}

/// Requires the dispatcher's lock.
State wrap(WantedOperator& wanted, std::size_t index) {
  if (!wanted.handle.hasSchema()) return State::kNotYet;
  DispatchedKernel kernel(wanted.handle, kKey[index]);
  if (kernel.empty()) return State::kNotYet;
  // One kernel can serve both keys.
  if (is_hook(kernel.boxed())) {
    wanted.place[index].store(kernel.place(), std::memory_order_release);
    return State::kWrapped;
  }
  // Ask only once: torch stores a token for each request (KernelFunction::registerToken).
  if (!wanted.agreed[index] && !kernel.is_what_torch_says(wanted.handle, kKey[index])) {
    say_not_wrapped(wanted, "torch's dispatch table is not as its headers say");
    return State::kNever;
  }
  wanted.agreed[index] = true;
  Found& found = find(identity_of(wanted.handle));
  found.real[index].store(kernel.boxed(), std::memory_order_release);
  found.wanted.store(&wanted, std::memory_order_release);
  found.identity.store(identity_of(wanted.handle), std::memory_order_release);
  const bool replaced = wanted.symbolic && kernel.has_unboxed()
                            ? replace_before_first_call(wanted, kernel, kHook[index])
                            : kernel.replace(kHook[index]);
  if (!replaced) {
    if (!wanted.symbolic) return State::kNotYet;  // another tool changes it, too
    say_not_wrapped(
        wanted,
        "it takes symbolic integers, and was called before it could be wrapped; a caller inside of it could "
        "crash");
    return State::kNever;
  }
  wanted.before[index] = kernel.before();
  wanted.place[index].store(kernel.place(), std::memory_order_release);
  return State::kWrapped;
}

class Listener final : public c10::OpRegistrationListener {
 public:
  // The dispatcher holds its lock here, so only note the operator, and request a check at the next operators.
  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    const char* const name = op.operator_name().name.c_str();
    const OperatorRow* row = find_operator(table(), name);
    if (row == nullptr && agent::full_detail() && !is_of_torch(name)) row = &unlisted_row();
    if (row == nullptr) return;
    const std::size_t count = g_operator_count.load(std::memory_order_relaxed);
    if (wake(op, count)) return want();
    if (count == kMostOperators) {
      agent::diagnose(wire::DiagnosticCode::kNote,
                      "there are more operators than are wrapped: of the others no gather "
                      "and no release is seen");
      return;
    }
    auto* const wanted = new WantedOperator(op, *row);
    // If the recording starts late, a thread may be inside a call of it.
    if (g_may_be_running) wanted->begun.store(2, std::memory_order_relaxed);
    g_operators[count].store(wanted, std::memory_order_relaxed);
    g_operator_count.store(count + 1, std::memory_order_release);
    want();
  }
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    each_operator([&](WantedOperator& wanted) {
      if (wanted.handle == op) wanted.gone.store(true, std::memory_order_release);
    });
  }

 private:
  static void want() {
    g_begun_since.store(0, std::memory_order_relaxed);
    set_operator_need(OperatorNeed::kWrapping, true);
    switch_callbacks();
  }
  /// True if the operator is present from an earlier recording.
  static bool wake(const c10::OperatorHandle& op, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      WantedOperator& wanted = *g_operators[i].load(std::memory_order_relaxed);
      if (!wanted.asleep.load(std::memory_order_relaxed) || wanted.gone.load(std::memory_order_relaxed) ||
          !(wanted.handle == op)) {
        continue;
      }
      if (g_may_be_running) wanted.begun.store(2, std::memory_order_relaxed);
      wanted.asleep.store(false, std::memory_order_release);
      return true;
    }
    return false;
  }
};

/// True if a registration has replaced a hook by another kernel. Checks one operator, and only at intervals.
bool has_lost_one() noexcept {
  const std::size_t count = g_operator_count.load(std::memory_order_relaxed);
  if (count == 0) return false;
  const std::uint64_t begun = g_begun_since.load(std::memory_order_relaxed) + 1;
  g_begun_since.store(begun, std::memory_order_relaxed);  // of two simultaneous increments one may be lost
  if (begun % kCheckEvery != 0) return false;
  const WantedOperator& wanted =
      *g_operators[g_checked.fetch_add(1, std::memory_order_relaxed) % count].load(std::memory_order_acquire);
  for (std::size_t i = 0; i < kKeys && !wanted.gone.load(std::memory_order_acquire); ++i) {
    const bool wrapped = wanted.state[i].load(std::memory_order_acquire) == State::kWrapped;
    if (wrapped && !is_hooked(wanted.place[i].load(std::memory_order_acquire))) return true;
  }
  return false;
}

}  // namespace

void start_wrapping() {
  // Existing operators refer to rows of the first recording's table, so that table stays.
  if (table().empty()) table() = load_operator_table();
  if (table().empty() && !agent::full_detail()) return;
  // The dispatcher at once reports every existing operator. Until the gate opens, calls are not counted.
  g_may_be_running = !agent::gate_open();
  // Listen until the recording ends: operators can be registered at any time.
  g_listening = std::make_unique<c10::RegistrationHandleRAII>(
      c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>()));
  g_may_be_running = false;
}

void stop_wrapping() {
  g_listening.reset();
  set_operator_need(OperatorNeed::kWrapping, false);
  const DispatcherLock lock;
  if (!lock.owned) return;  // hooks that stay pass every call on
  each_operator([](WantedOperator& wanted) {
    for (std::size_t i = 0; i < kKeys && wanted.handle.hasSchema(); ++i) {
      if (wanted.state[i].load(std::memory_order_relaxed) != State::kWrapped) continue;
      if (wanted.before[i].boxed != nullptr) {
        DispatchedKernel(wanted.handle, kKey[i]).restore(kHook[i], wanted.before[i]);
      }
      wanted.state[i].store(State::kNotYet, std::memory_order_release);
    }
    wanted.asleep.store(true, std::memory_order_release);
  });
}

bool wrapping_due(const char* op) noexcept {
  if (!has_operator_need(OperatorNeed::kWrapping)) {
    if (!has_lost_one()) return false;
    g_begun_since.store(0, std::memory_order_relaxed);
    set_operator_need(OperatorNeed::kWrapping, true);
    return true;
  }
  const bool of_aten = strncmp(op, "aten::", 6) == 0;
  if (!of_aten) count_begin(op);
  const std::uint64_t begun = g_begun_since.fetch_add(1, std::memory_order_relaxed) + 1;
  // Kernels are registered one by one after their operator, without an event. So check often at first and less often
  // later, and always at the begin of a library's own operator. The call that has begun uses a kernel that is replaced
  // now.
  return (begun & (begun - 1)) == 0 || !of_aten;
}

void wrap_registered_operators() {
  // The call that begins must be recorded, so wait for another thread's check, but only for a bounded time.
  constexpr int kPatience = 2000;
  constexpr timespec kPause{0, 50'000};
  static std::atomic<bool> busy{false};
  for (int tries = 0; busy.exchange(true, std::memory_order_acquire); ++tries) {
    if (tries == kPatience) return;
    nanosleep(&kPause, nullptr);
  }
  const std::uint64_t begun = g_begun_since.load(std::memory_order_relaxed);
  bool all = true;
  if (const DispatcherLock lock; lock.owned) {
    each_operator([&](WantedOperator& wanted) {
      bool any = false;
      bool missing = false;
      for (std::size_t i = 0; i < kKeys; ++i) {
        State state = wanted.state[i].load(std::memory_order_relaxed);
        // Another kernel may have been registered over the hook, without an event.
        if (state == State::kWrapped && !is_hook(*wanted.place[i].load(std::memory_order_relaxed)))
          state = State::kNotYet;
        if (state == State::kNotYet) {
          try {
            state = wrap(wanted, i);
          } catch (const std::exception& error) {
            say_not_wrapped(wanted, error.what());
            state = State::kNever;
          }
        }
        wanted.state[i].store(state, std::memory_order_release);
        any = any || state != State::kNotYet;
        missing = missing || state == State::kNotYet;
      }
      const bool listed = wanted.row != &unlisted_row();
      all = all && (!missing || begun >= (listed && !any ? kExpectedUntil : kUnlistedExpectedUntil));
    });
    if (all) set_operator_need(OperatorNeed::kWrapping, false);
  }
  busy.store(false, std::memory_order_release);
}

}  // namespace dcmt::torch_provider
