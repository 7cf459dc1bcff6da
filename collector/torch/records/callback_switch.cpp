#include "collector/torch/records/callback_switch.h"

#include <ATen/record_function.h>
#include <time.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/records/key_reads.h"

namespace dcmt::torch_provider {
namespace {

std::atomic<at::CallbackHandle> g_operators_handle{at::INVALID_CALLBACK_HANDLE};
std::atomic<at::CallbackHandle> g_reads_handle{at::INVALID_CALLBACK_HANDLE};
std::atomic<bool> g_switching{false};  ///< one thread at a time switches callbacks
std::atomic<std::uint32_t> g_needs{0};
MakeCallback g_make_operators;
MakeCallback g_make_inputs;

/// False once the recording has ended: a thread that is still in a hook must not add callbacks again.
std::atomic<bool> g_may_observe{false};

bool operators_wanted() noexcept {
  return g_may_observe.load(std::memory_order_acquire) &&
         (agent::every_operator() || agent::follows_streams() || agent::follows_gpu_work() ||
          g_needs.load(std::memory_order_relaxed) != 0);
}

bool inputs_wanted() noexcept {
  return g_may_observe.load(std::memory_order_acquire) && (agent::follows_streams() || reads_wanted());
}

bool is_on(const std::atomic<at::CallbackHandle>& handle) noexcept {
  return handle.load(std::memory_order_relaxed) != at::INVALID_CALLBACK_HANDLE;
}

void switch_to(bool wanted, std::atomic<at::CallbackHandle>& handle, MakeCallback callback) {
  if (wanted == is_on(handle)) return;
  if (wanted) {
    handle.store(at::addGlobalCallback(callback()));
  } else {
    at::removeCallback(handle.exchange(at::INVALID_CALLBACK_HANDLE));
  }
}

}  // namespace

void allow_callbacks(MakeCallback operators, MakeCallback inputs) {
  g_make_operators = operators;
  g_make_inputs = inputs;
  g_may_observe.store(true, std::memory_order_release);
  switch_callbacks();
}

void forbid_callbacks() {
  constexpr int kPatience = 2000;
  constexpr timespec kPause{0, 50'000};
  g_may_observe.store(false, std::memory_order_release);
  for (int i = 0; i < kPatience && (is_on(g_operators_handle) || is_on(g_reads_handle)); ++i) {
    if (i != 0) nanosleep(&kPause, nullptr);
    switch_callbacks();
  }
}

void set_operator_need(OperatorNeed need, bool present) noexcept {
  const auto bit = static_cast<std::uint32_t>(need);
  if (present) {
    g_needs.fetch_or(bit, std::memory_order_relaxed);
  } else {
    g_needs.fetch_and(~bit, std::memory_order_relaxed);
  }
}

bool has_operator_need(OperatorNeed need) noexcept {
  return (g_needs.load(std::memory_order_relaxed) & static_cast<std::uint32_t>(need)) != 0;
}

void switch_callbacks() noexcept {
  if (operators_wanted() == is_on(g_operators_handle) && inputs_wanted() == is_on(g_reads_handle)) return;
  // One thread at a time switches. If it is busy, another thread tries again at its next operator's end.
  if (g_switching.exchange(true, std::memory_order_acquire)) return;
  switch_to(operators_wanted(), g_operators_handle, g_make_operators);
  switch_to(inputs_wanted(), g_reads_handle, g_make_inputs);
  g_switching.store(false, std::memory_order_release);
}

bool nodes_are_observed() noexcept { return is_on(g_operators_handle); }

}  // namespace dcmt::torch_provider
