#include "collector/agent/main_thread.h"

#include <time.h>

#include <atomic>

#include "collector/agent/hot_path.h"
#include "collector/agent/pending_call.h"

namespace dcmt::agent {
namespace {

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
  const AddPendingCall add = find_add_pending_call();
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
