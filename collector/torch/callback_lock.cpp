#include "collector/torch/callback_lock.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {
namespace {

// A thread holds the lock for a copy of a few callbacks, but may have to wait for a CPU meanwhile.
constexpr int kPatience = 10'000;
constexpr useconds_t kTryEvery = 100;

constinit pthread_mutex_t* g_lock = nullptr;
bool g_held = false;  ///< over the fork that is under way: one at a time, by the C library's own lock

// While it is looked for.
std::atomic<pthread_t> g_looking{0};
constinit pthread_mutex_t* g_seen = nullptr;
bool g_seen_others = false;

int on_mutex_lock(pthread_mutex_t* mutex) {
  if (g_looking.load(std::memory_order_relaxed) == pthread_self()) {
    if (g_seen == nullptr) g_seen = mutex;
    g_seen_others = g_seen_others || mutex != g_seen;
  }
  return pthread_mutex_lock(mutex);
}

void before_fork() {
  for (int tries = 0; tries < kPatience; ++tries) {
    g_held = pthread_mutex_trylock(g_lock) == 0;
    // Own: a signal's handler that forks while its thread has it.
    if (g_held || g_lock->__data.__owner == gettid()) return;
    usleep(kTryEvery);
  }
}

void after_fork() {
  if (!g_held) return;
  g_held = false;
  pthread_mutex_unlock(g_lock);
}

}  // namespace

bool keep_callback_lock_over_forks(void (*add)()) noexcept {
  std::array<void**, 4> slots{};
  const std::size_t count = elf::import_slots("libtorch_cpu.so", "pthread_mutex_lock", slots);
  std::array<void*, slots.size()> before{};
  for (std::size_t i = 0; i < count; ++i) {
    before[i] = *slots[i];
    elf::patch_virtual(slots[i], 0, elf::pointer(on_mutex_lock));
  }
  g_looking.store(pthread_self(), std::memory_order_relaxed);
  add();
  g_looking.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) elf::patch_virtual(slots[i], 0, before[i]);
  if (g_seen == nullptr || g_seen_others) return false;
  g_lock = g_seen;
  return pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

}  // namespace dcmt::torch_provider
