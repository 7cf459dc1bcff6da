#include "collector/agent/gate.h"

#include <sys/mman.h>

namespace dcmt::agent {
namespace {
constinit std::atomic<std::uint32_t> g_closed{0};
}

constinit std::atomic<std::uint32_t>* g_gate = &g_closed;

bool make_gate() noexcept {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    munmap(page, 4096);
    return false;
  }
  g_gate = static_cast<std::atomic<std::uint32_t>*>(page);
  return true;
}

void open_gate() noexcept { g_gate->store(static_cast<std::uint32_t>(GateState::kOpen), std::memory_order_release); }
void close_gate() noexcept { g_gate->store(static_cast<std::uint32_t>(GateState::kClosed), std::memory_order_release); }

bool take_wiped_gate() noexcept {
  auto expected = static_cast<std::uint32_t>(GateState::kWiped);
  // The look comes first: a process that does not record must not pay for an exchange at every hook.
  return g_gate != &g_closed && g_gate->load(std::memory_order_relaxed) == expected &&
         g_gate->compare_exchange_strong(expected, static_cast<std::uint32_t>(GateState::kClosed),
                                         std::memory_order_relaxed);
}

}  // namespace dcmt::agent
