#include "collector/torch/operators/callback_lock.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {
namespace {

// A thread holds the lock while it copies a few callbacks, but it may be preempted meanwhile.
constexpr int kPatience = 10'000;
constexpr useconds_t kTryEvery = 100;

constinit pthread_mutex_t* g_lock = nullptr;
std::atomic<pthread_t> g_forks{0};  ///< the thread that holds the lock during its fork

// The thread that searches for the lock.
std::atomic<pthread_t> g_searching{0};
constinit pthread_mutex_t* g_seen = nullptr;
bool g_seen_others = false;

int on_mutex_lock(pthread_mutex_t* mutex) {
  if (g_searching.load(std::memory_order_relaxed) == pthread_self()) {
    if (g_seen == nullptr) g_seen = mutex;
    g_seen_others = g_seen_others || mutex != g_seen;
  }
  return pthread_mutex_lock(mutex);
}

/// Records which lock torch acquires on this thread, as long as it lives.
class LockSearch {
 public:
  LockSearch() : count_(elf::import_slots("libtorch_cpu.so", "pthread_mutex_lock", slots_)) {
    for (std::size_t i = 0; i < count_; ++i) {
      before_[i] = *slots_[i];
      elf::patch_slot(slots_[i], 0, elf::pointer(on_mutex_lock));
    }
    g_searching.store(pthread_self(), std::memory_order_relaxed);
  }
  ~LockSearch() {
    g_searching.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < count_; ++i) elf::patch_slot(slots_[i], 0, before_[i]);
  }
  LockSearch(const LockSearch&) = delete;
  LockSearch& operator=(const LockSearch&) = delete;

 private:
  static constexpr std::size_t kMostSlots = 4;

  std::array<void**, kMostSlots> slots_{};
  std::array<void*, kMostSlots> before_{};
  std::size_t count_;
};

void before_fork() {
  for (int tries = 0; tries < kPatience; ++tries) {
    if (pthread_mutex_trylock(g_lock) == 0) {
      g_forks.store(pthread_self(), std::memory_order_relaxed);
      return;
    }
    // Already held: a signal handler that forks has interrupted a holder on this thread.
    if (g_lock->__data.__owner == gettid()) return;
    usleep(kTryEvery);
  }
}

void after_fork() {
  // Several threads can be between the two handlers at once.
  if (g_forks.load(std::memory_order_relaxed) != pthread_self()) return;
  g_forks.store(0, std::memory_order_relaxed);
  pthread_mutex_unlock(g_lock);
}

}  // namespace

bool keep_callback_lock_over_forks(void (*add)()) {
  {
    const LockSearch search;
    add();
  }
  if (g_seen == nullptr || g_seen_others) return false;
  g_lock = g_seen;
  return pthread_atfork(before_fork, after_fork, after_fork) == 0;
}

}  // namespace dcmt::torch_provider
