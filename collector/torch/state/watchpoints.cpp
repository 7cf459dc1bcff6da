#include "collector/torch/state/watchpoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "collector/agent/environment.h"
#include "collector/agent/provider.h"
#include "collector/agent/watchpoint_event.h"
#include "trace/arch/arch.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint32_t kTrapLate = 1;     // TRAP_PERF_FLAG_ASYNC
constexpr std::size_t kMostThreads = 256;  // that exist when the watchpoints are made
constexpr int kLowestDescriptor = 800;     // the program's own descriptors keep the numbers of a plain run

/// The events of one thread, which its later threads inherit.
struct ThreadEvents {
  int files[kWatchpoints];
};
constinit ThreadEvents g_threads[kMostThreads];
constinit std::size_t g_thread_count = 0;
constinit OnWrite g_on_write = nullptr;
constinit struct sigaction g_trap_before = {};
constinit bool g_made = false;
alignas(8) constinit volatile std::uint64_t g_tried = 0;
constinit std::atomic<bool> g_try_reported{false};
/// What cleared watchpoints watch: nothing writes here.
alignas(8) constinit std::uint64_t g_nowhere[kWatchpoints] = {};

std::uint64_t nowhere(int watchpoint) noexcept { return reinterpret_cast<std::uint64_t>(&g_nowhere[watchpoint]); }

void pass_trap_on(int signal, siginfo_t* info, void* context) noexcept {
  if (g_trap_before.sa_handler == SIG_IGN) return;
  if (g_trap_before.sa_handler == SIG_DFL) {
    sigaction(signal, &g_trap_before, nullptr);
    raise(signal);
  } else if ((g_trap_before.sa_flags & SA_SIGINFO) != 0) {
    g_trap_before.sa_sigaction(signal, info, context);
  } else {
    g_trap_before.sa_handler(signal);
  }
}

void on_trap(int signal, siginfo_t* info, void* context) {
  if (info->si_code != agent::kTrapPerf) return pass_trap_on(signal, info, context);
  const int error = errno;
  agent::TrapInfo trap;
  memcpy(&trap, info, sizeof trap);
  if (trap.address == reinterpret_cast<std::uint64_t>(&g_tried)) {
    g_try_reported.store(true);
  } else if (trap.data < kWatchpoints) {
    g_on_write(static_cast<int>(trap.data), trap.address, context, (trap.flags & kTrapLate) != 0);
  }
  errno = error;
}

bool install_handler() noexcept {
  struct sigaction ours = {};
  ours.sa_sigaction = on_trap;
  // Not on another stack: those of signals are too small for a record.
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  return sigaction(SIGTRAP, nullptr, &g_trap_before) == 0 && sigaction(SIGTRAP, &ours, nullptr) == 0;
}

/// A signal that a thread has blocked would end the program once the handler is gone.
bool a_trap_is_pending() noexcept {
  DIR* const threads = opendir("/proc/self/task");
  if (threads == nullptr) return true;
  bool pending = false;
  while (const dirent* entry = readdir(threads)) {
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE* const status = entry->d_name[0] != '.' ? fopen(path, "re") : nullptr;
    if (status == nullptr) continue;
    char line[256];
    while (fgets(line, sizeof line, status) != nullptr) {
      if (strncmp(line, "SigPnd:", 7) != 0) continue;
      pending |= (strtoull(line + 7, nullptr, 16) >> (SIGTRAP - 1) & 1) != 0;
    }
    fclose(status);
  }
  closedir(threads);
  return pending;
}

int open_event(int watchpoint, pid_t thread) noexcept {
  perf_event_attr event = agent::watchpoint_event(watchpoint, nowhere(watchpoint), false);
  const int file = static_cast<int>(syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (file < 0) return -errno;
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (moved < 0) return file;
  close(file);
  return moved;
}

void close_events(ThreadEvents& events, int count) noexcept {
  for (int i = 0; i < count; ++i) close(events.files[i]);
}

/// 0, or the error. A thread that has inherited events has none left to be had: ENOSPC.
int follow_thread(pid_t thread) noexcept {
  if (g_thread_count == kMostThreads) return EMFILE;
  ThreadEvents& events = g_threads[g_thread_count];
  for (int i = 0; i < kWatchpoints; ++i) {
    events.files[i] = open_event(i, thread);
    if (events.files[i] >= 0) continue;
    const int error = -events.files[i];
    close_events(events, i);
    return error;
  }
  ++g_thread_count;
  return 0;
}

/// True if all threads are followed; each that one of them makes from now on inherits.
/// @param error  out: the first one that was no inheritance
bool follow_threads(int& error) noexcept {
  constexpr int kRounds = 3;  // a thread that was not followed yet may make another one meanwhile
  error = follow_thread(static_cast<pid_t>(syscall(SYS_gettid)));
  if (error != 0) return false;
  for (int round = 0; round < kRounds; ++round) {
    DIR* const threads = opendir("/proc/self/task");
    if (threads == nullptr) return false;
    const std::size_t before = g_thread_count;
    while (const dirent* entry = readdir(threads)) {
      const auto thread = static_cast<pid_t>(atoi(entry->d_name));
      if (thread == 0) continue;
      const int failed = follow_thread(thread);
      if (failed == 0 || failed == ENOSPC || failed == ESRCH) continue;
      error = failed;
      closedir(threads);
      return false;
    }
    closedir(threads);
    if (g_thread_count == before) break;
  }
  return true;
}

void close_all() noexcept {
  for (std::size_t i = 0; i < g_thread_count; ++i) close_events(g_threads[i], kWatchpoints);
  g_thread_count = 0;
}

bool change_watchpoint(int watchpoint, std::uint64_t address, bool on) noexcept {
  perf_event_attr event = agent::watchpoint_event(watchpoint, address, on);
  bool changed = g_made;
  for (std::size_t i = 0; i < g_thread_count; ++i) {
    changed &= ioctl(g_threads[i].files[watchpoint], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &event) == 0;
  }
  return changed;
}

/// Some virtual machines accept watchpoints and never report a write.
bool a_write_is_reported() noexcept {
  sigset_t trap, before;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  if (pthread_sigmask(SIG_UNBLOCK, &trap, &before) != 0) return false;
  g_try_reported.store(false);
  const bool set = set_watchpoint(0, reinterpret_cast<std::uint64_t>(&g_tried));
  g_tried = 1;
  const bool cleared = clear_watchpoint(0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return set && cleared && g_try_reported.load();
}

}  // namespace

const char* make_watchpoints(OnWrite on_write) noexcept {
  if (const char* off = getenv(agent::kEnvTestNoWatchpoints); off != nullptr) return "a test has switched them off";
  if (agent::kNoWatchpointSignals != nullptr) return agent::kNoWatchpointSignals;
  g_on_write = on_write;
  int error = 0;
  if (!follow_threads(error)) {
    close_all();
    return agent::why_no_watchpoint(error);
  }
  if (!install_handler()) {
    close_all();
    return "the kernel refuses a handler of SIGTRAP";
  }
  g_made = true;
  if (!a_write_is_reported()) {
    leave_watchpoints();
    return agent::kNoWriteReported;
  }
  agent::prepare_native_stacks();
  return nullptr;
}

void leave_watchpoints() noexcept {
  if (!g_made) return;
  for (int i = 0; i < kWatchpoints; ++i) clear_watchpoint(i);
  g_made = false;
  close_all();
  struct sigaction now = {};
  if (sigaction(SIGTRAP, nullptr, &now) == 0 && now.sa_sigaction == on_trap && !a_trap_is_pending()) {
    sigaction(SIGTRAP, &g_trap_before, nullptr);
  }
}

bool set_watchpoint(int watchpoint, std::uint64_t address) noexcept {
  struct sigaction now = {};
  // Without our handler, the signal would end the program.
  if (sigaction(SIGTRAP, nullptr, &now) != 0 || now.sa_sigaction != on_trap) return false;
  if (change_watchpoint(watchpoint, address, true)) return true;
  change_watchpoint(watchpoint, nowhere(watchpoint), false);
  return false;
}

bool clear_watchpoint(int watchpoint) noexcept { return change_watchpoint(watchpoint, nowhere(watchpoint), false); }

std::uint64_t stack_at(const void* place) noexcept {
  return agent::native_stack(arch::code_point_of(*static_cast<const ucontext_t*>(place)));
}

}  // namespace dcmt::torch_provider
