#include "collector/agent/main_thread.h"

#include <dlfcn.h>
#include <time.h>

#include <atomic>

#include "collector/agent/hot_path.h"

namespace dcmt::agent {
namespace {

using Callback = int (*)(void*);
/// Py_AddPendingCall: callable from any thread, without the GIL. Returns 0 if the call was queued; otherwise the queue
/// is full.
using AddPendingCall = int (*)(Callback, void*);

constinit std::atomic<void (*)()> g_start{nullptr};
constinit std::atomic<bool> g_done{false};

int on_main_thread(void*) {
  if (auto* const start = g_start.exchange(nullptr); start != nullptr) {
    const Inside inside;
    start();
    g_done.store(true, std::memory_order_release);
  }
  return 0;
}

}  // namespace

void start_on_main_thread(void (*start)()) noexcept {
  constexpr int kPatience = 500;
  constexpr timespec kPause{0, 1'000'000};
  const auto add = reinterpret_cast<AddPendingCall>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
  if (add == nullptr) return;
  g_done.store(false, std::memory_order_relaxed);
  g_start.store(start, std::memory_order_release);
  bool added = false;
  for (int i = 0; i < kPatience && !g_done.load(std::memory_order_acquire); ++i) {
    added = added || add(on_main_thread, nullptr) == 0;
    nanosleep(&kPause, nullptr);
  }
}

void drop_main_thread_work() noexcept { g_start.store(nullptr); }

}  // namespace dcmt::agent
