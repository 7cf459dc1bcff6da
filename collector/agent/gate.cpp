#include "collector/agent/gate.h"

#include <sys/mman.h>

namespace dcmt::agent {
namespace {
constinit bool g_made = false;
}

constinit HotPage g_hot = {};

bool make_gate() noexcept {
  // The gate's page has no file behind it (its data is zero), so the kernel treats it as private memory and can wipe
  // it.
  g_made = madvise(&g_hot, sizeof g_hot, MADV_WIPEONFORK) == 0;
  // An attaching recorder installs hooks in a running program. Until the gate opens, those hooks must not see the state
  // of a forked child.
  if (g_made) close_gate();
  return g_made;
}

void open_gate() noexcept { g_hot.gate.store(static_cast<std::uint32_t>(GateState::kOpen), std::memory_order_release); }
void close_gate() noexcept {
  g_hot.gate.store(static_cast<std::uint32_t>(GateState::kClosed), std::memory_order_release);
}

bool close_wiped_gate() noexcept {
  auto expected = static_cast<std::uint32_t>(GateState::kWiped);
  // Read first: a process that does not record must not pay for an atomic exchange at every hook.
  return g_made && g_hot.gate.load(std::memory_order_relaxed) == expected &&
         g_hot.gate.compare_exchange_strong(expected, static_cast<std::uint32_t>(GateState::kClosed),
                                            std::memory_order_relaxed);
}

}  // namespace dcmt::agent
