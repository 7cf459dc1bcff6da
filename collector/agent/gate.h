// The gate: one word that says whether this process records. It lies on a page of its own that the kernel hands to a
// forked child as zeros, so a child is silent without any code of ours running at the fork.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/agent/api.h"

namespace dcmt::agent {

enum class GateState : std::uint32_t {
  kWiped = 0,  ///< not opened yet, or a forked child
  kOpen = 1,
  kClosed = 2,
};

/// Makes the page; false if the kernel cannot wipe it on fork. Called once, before open_gate().
bool make_gate() noexcept;
void open_gate() noexcept;
void close_gate() noexcept;

// Defined with constinit. NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern DCMT_AGENT_API std::atomic<std::uint32_t>* g_gate;

/// True once in a forked child, the first time it is asked there.
bool take_wiped_gate() noexcept;

inline bool gate_open() noexcept {
  return g_gate->load(std::memory_order_relaxed) == static_cast<std::uint32_t>(GateState::kOpen);
}

}  // namespace dcmt::agent
