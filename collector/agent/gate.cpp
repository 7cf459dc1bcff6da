#include "collector/agent/gate.h"

#include <sys/mman.h>

namespace dcmt::agent {
namespace {
constinit bool g_made = false;
}

constinit HotPage g_hot = {};

bool make_gate() noexcept {
  // Zeros come with no file: the kernel takes the page for memory of the process's own.
  g_made = madvise(&g_hot, sizeof g_hot, MADV_WIPEONFORK) == 0;
  // Who attaches puts hooks into a program that runs: until the gate opens, they are not those of a forked child.
  if (g_made) close_gate();
  return g_made;
}

void open_gate() noexcept { g_hot.gate.store(static_cast<std::uint32_t>(GateState::kOpen), std::memory_order_release); }
void close_gate() noexcept {
  g_hot.gate.store(static_cast<std::uint32_t>(GateState::kClosed), std::memory_order_release);
}

bool take_wiped_gate() noexcept {
  auto expected = static_cast<std::uint32_t>(GateState::kWiped);
  // The look comes first: a process that does not record must not pay for an exchange at every hook.
  return g_made && g_hot.gate.load(std::memory_order_relaxed) == expected &&
         g_hot.gate.compare_exchange_strong(expected, static_cast<std::uint32_t>(GateState::kClosed),
                                            std::memory_order_relaxed);
}

}  // namespace dcmt::agent
