// The kernel's event for a hardware watchpoint, as the agent sets it on a program's threads and the recorder tries it.
#pragma once

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>

#include <cstdint>

#include "trace/arch/arch.h"

namespace dcmt::agent {

inline constexpr int kWatchpoints = 4;  ///< what processors have

inline constexpr int kTrapPerf = 6;  ///< TRAP_PERF, the si_code of its signal, which older headers lack

/// The beginning of a siginfo_t of a perf event, which older headers lack.
struct TrapInfo {
  int signal, error, code, padding;
  std::uint64_t address;
  std::uint64_t data;
  std::uint32_t type;
  std::uint32_t flags;
};
static_assert(sizeof(TrapInfo) <= sizeof(siginfo_t));

#ifdef PERF_ATTR_SIZE_VER7
/// A write to the 8 bytes at the address, by this thread or one that it makes, sends SIGTRAP to the one that writes.
inline perf_event_attr watchpoint_event(int watchpoint, std::uint64_t address, bool on) noexcept {
  perf_event_attr event = {};
  event.type = PERF_TYPE_BREAKPOINT;
  event.size = sizeof event;
  event.sample_period = 1;
  event.bp_type = HW_BREAKPOINT_W;
  event.bp_addr = address;
  event.bp_len = HW_BREAKPOINT_LEN_8;
  event.disabled = on ? 0 : 1;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  event.inherit = 1;
  event.inherit_thread = 1;  // forked children do not
  event.remove_on_exec = 1;
  event.sigtrap = 1;
  event.sig_data = static_cast<std::uint64_t>(watchpoint);
  return event;
}
inline constexpr const char* kNoWatchpointSignals = arch::kNoWatchpoints;
#else
inline perf_event_attr watchpoint_event(int /*watchpoint*/, std::uint64_t /*address*/, bool /*on*/) noexcept {
  return {};
}
inline constexpr const char* kNoWatchpointSignals =
    "dc-memtrace was built with headers of a kernel before 5.13, which has no watchpoints";
#endif

inline constexpr const char* kNoWriteReported = "this machine accepts watchpoints, but reports no write to them";

/// @param error  of perf_event_open
inline const char* why_no_watchpoint(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM:
      return "the kernel allows no watchpoints here (perf_event_open: a seccomp filter, or perf_event_paranoid above "
             "2)";
    case ENOSPC:
      return "another program, such as a debugger, uses the processor's watchpoints";
    case EMFILE:
      return "the process has too many threads or open files for watchpoints";
    default:
      return "this kernel or this machine has no watchpoints that a process can set (Linux 5.13 or newer is needed)";
  }
}

}  // namespace dcmt::agent
