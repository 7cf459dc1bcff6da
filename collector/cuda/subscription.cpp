#include "collector/cuda/subscription.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "collector/agent/provider.h"
#include "collector/cuda/gpu_calls.h"
#include "collector/cuda/gpu_work.h"
#include "collector/cuda/kernel_parameters.h"
#include "collector/cuda/libraries.h"
#include "collector/cuda/stream_calls.h"
#include "collector/elf/elf_patch.h"

namespace dcmt::cuda_provider {
namespace {

using elf::ImportPatch;
using elf::patch_imports;
using elf::pointer;

enum class State : int {
  kOff,       ///< not subscribed; a thread may try
  kChanging,  ///< a thread is changing it
  kOn,        ///< subscribed
  kAway,      ///< another subscriber exists, or is about to subscribe
  kGone,      ///< another subscriber came through a pointer, and its end cannot be observed
  kEnded,     ///< the recording has ended
};

constexpr std::int64_t kBetweenTriesNs = 1'000'000'000;

constinit Cupti g_cupti{};
constinit CUpti_SubscriberHandle g_subscriber = nullptr;
constinit std::atomic<State> g_state{State::kOff};
constinit std::atomic<std::int64_t> g_next_try_ns{0};
constinit std::atomic<bool> g_was_on{false};
constinit std::atomic<bool> g_said{false};
constinit std::atomic<const char*> g_why_not{nullptr};  ///< the reason that was reported

constexpr char kNoGpuYet[] =
    "the program uses no GPU so far: kernels are seen from the first release on that leaves memory of one alive";
constexpr char kStays[] =
    "CUPTI stays initialized in the program, with nobody subscribed, because ending it can break CUDA graphs: "
    "docs/attach.md says what is known of its cost";

std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void say_once(const char* text) noexcept {
  g_why_not.store(text);
  if (!g_said.exchange(true)) agent::diagnose(wire::DiagnosticCode::kProviderOff, text);
}

void say_that_another_has_it() noexcept {
  say_once(
      "kernels that touch released storages are not seen while another CUPTI user (torch.profiler, Nsight) is there: "
      "CUPTI serves one at a time");
}

bool begin_change(State from) noexcept { return g_state.compare_exchange_strong(from, State::kChanging); }

void subscribe() noexcept {
  const Driver driver = find_driver();
  set_driver(driver);
  set_stream_driver(driver);
  // Code may have been unloaded while launches were not recorded.
  forget_kernels();
  const CUptiResult result = g_cupti.subscribe(&g_subscriber, on_gpu_call, nullptr);
  if (result != CUPTI_SUCCESS) {
    static char text[160];  // only the thread that changes the state writes it
    const bool in_use = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    snprintf(text, sizeof text, "CUPTI refuses (error %d): kernels that touch released storages are not seen",
             static_cast<int>(result));
    in_use ? say_that_another_has_it() : say_once(text);
    g_next_try_ns.store(now_ns() + kBetweenTriesNs, std::memory_order_relaxed);
    g_state.store(State::kOff);
    return;
  }
  const auto observe = [](std::span<const CUpti_CallbackId> calls) {
    for (const CUpti_CallbackId id : calls) {
      // A library that is older than its header does not have all of them.
      static_cast<void>(g_cupti.enable_callback(1, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id));
    }
  };
  observe(wanted_calls());
  if (agent::follows_streams()) observe(ordering_calls());
  if (agent::follows_gpu_work()) begin_gpu_work();
  g_was_on.store(true);
  g_state.store(State::kOn);
  write_launches(true);
}

/// Unsubscribes and sets the state to `away`, unless it is that already. Waits for a thread that is subscribing. True
/// if the state has changed.
bool make_way(State away) noexcept {
  constexpr int kPatience = 100'000;
  for (int tries = 0; tries < kPatience; ++tries) {
    State state = g_state.load();
    if (state == State::kGone || state == away) return false;
    if (state == State::kOn) {
      if (!begin_change(State::kOn)) continue;
      end_gpu_work();
      static_cast<void>(g_cupti.unsubscribe(g_subscriber));
      g_state.store(away);
      if (!agent::recording()) return true;
      const agent::Inside inside;
      write_launches(false);
      say_that_another_has_it();
      return true;
    }
    if (state != State::kChanging && g_state.compare_exchange_strong(state, away)) return true;
    sched_yield();
  }
  return false;
}

/// Nobody is subscribed any more, so we may try again.
void may_come_back() noexcept {
  State away = State::kAway;
  g_state.compare_exchange_strong(away, State::kOff);
}

CUptiResult CUPTIAPI on_subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* data) {
  const bool left = make_way(State::kAway);
  const CUptiResult result = g_cupti.subscribe(subscriber, callback, data);
  if (result != CUPTI_SUCCESS && left) may_come_back();
  return result;
}

CUptiResult CUPTIAPI on_unsubscribe(CUpti_SubscriberHandle subscriber) {
  const CUptiResult result = g_cupti.unsubscribe(subscriber);
  if (result == CUPTI_SUCCESS) may_come_back();
  return result;
}

CUptiResult CUPTIAPI on_finalize() {
  // It ends every subscription, including ours.
  make_way(State::kAway);
  const CUptiResult result = g_cupti.finalize();
  may_come_back();
  return result;
}

const ImportPatch kImports[] = {
    {"cuptiSubscribe", pointer(on_subscribe), nullptr},
    {"cuptiUnsubscribe", pointer(on_unsubscribe), nullptr},
    {"cuptiFinalize", pointer(on_finalize), nullptr},
};
const std::span<const ImportPatch> kGroups[] = {kImports};

/// True if the program uses CUDA already. A subscription before that would initialise CUDA, and a process that has
/// initialised it cannot fork children that use a GPU.
bool uses_gpu() noexcept {
  const Driver driver = find_driver();
  int count = 0;
  return driver.device_count != nullptr && driver.device_count(&count) == CUDA_SUCCESS && count > 0;
}

/// Triton's profiler keeps the address of cuptiSubscribe. If it had the address before we came, we cannot observe its
/// calls.
bool has_proton() noexcept { return elf::loaded_library("libproton.so") != nullptr; }

}  // namespace

bool begin_subscription(const char** why) noexcept {
  if (!find_cupti(g_cupti)) {
    *why = "CUPTI has not the functions that are needed: kernels that touch released storages are not seen";
    return false;
  }
  patch_imports(kGroups);
  g_was_on.store(false);
  g_said.store(false);
  g_why_not.store(nullptr);
  g_next_try_ns.store(0);
  // A subscriber from the end of an earlier recording may have left since.
  for (State state : {State::kEnded, State::kAway}) g_state.compare_exchange_strong(state, State::kOff);
  return true;
}

void watch_calls() noexcept {
  switch (g_state.load(std::memory_order_relaxed)) {
    case State::kOff:
      if (now_ns() < g_next_try_ns.load(std::memory_order_relaxed) || !begin_change(State::kOff)) return;
      // Objects that were loaded since may import CUPTI, too. An object that is still being loaded is patched next
      // time.
      patch_imports(kGroups);
      subscribe();
      return;
    case State::kAway:
    case State::kGone:
      say_that_another_has_it();
      return;
    case State::kOn:
    case State::kChanging:
    case State::kEnded:
      return;
  }
}

void write_launches_if_ever() noexcept {
  if (g_was_on.load(std::memory_order_relaxed)) write_launches(g_state.load(std::memory_order_relaxed) == State::kOn);
}

void step_aside() noexcept { make_way(State::kGone); }

const char* watch_from_now() noexcept {
  if (has_proton()) step_aside();
  if (!uses_gpu()) {
    agent::diagnose(wire::DiagnosticCode::kNote, kNoGpuYet);
    return kNoGpuYet;
  }
  watch_calls();
  return g_state.load() == State::kOn ? nullptr : g_why_not.load();
}

void before_end() noexcept {
  write_launches_if_ever();
  if (g_was_on.load(std::memory_order_relaxed)) agent::diagnose(wire::DiagnosticCode::kNote, kStays);
}

void leave() noexcept {
  // Wait for a thread that is subscribing, because it walks through the objects.
  make_way(State::kEnded);
  if (g_state.load() != State::kChanging) elf::undo();
}

}  // namespace dcmt::cuda_provider
