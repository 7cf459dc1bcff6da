#include "collector/recorder/target/try_watchpoints.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "collector/agent/watchpoint_event.h"

namespace dcmt::recorder {
namespace {

alignas(8) volatile std::uint64_t g_watched = 0;
volatile sig_atomic_t g_reported = 0;

void on_watched_write(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code != agent::kTrapPerf) return;
  agent::TrapInfo trap;
  std::memcpy(&trap, info, sizeof trap);
  if (trap.address == reinterpret_cast<std::uint64_t>(&g_watched)) g_reported = 1;
}

}  // namespace

const char* why_no_watchpoints() {
  if (agent::kNoWatchpointSignals != nullptr) return agent::kNoWatchpointSignals;
  struct sigaction ours = {}, before = {};
  ours.sa_sigaction = on_watched_write;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  if (sigaction(SIGTRAP, &ours, &before) != 0) return "the kernel refuses a handler of SIGTRAP";
  sigset_t trap, blocked;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  pthread_sigmask(SIG_UNBLOCK, &trap, &blocked);
  g_reported = 0;
  std::array<int, agent::kWatchpoints> files{};
  int error = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    // One is tried; the others only have to be there.
    perf_event_attr event = agent::watchpoint_event(static_cast<int>(i), reinterpret_cast<std::uint64_t>(&g_watched),
                                                    /*on=*/i == 0);
    files[i] = static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (files[i] < 0 && error == 0) error = errno;
  }
  g_watched = 1;
  for (const int file : files) {
    if (file >= 0) close(file);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  sigaction(SIGTRAP, &before, nullptr);
  if (error != 0) return agent::why_no_watchpoint(error);
  return g_reported != 0 ? nullptr : agent::kNoWriteReported;
}

}  // namespace dcmt::recorder
