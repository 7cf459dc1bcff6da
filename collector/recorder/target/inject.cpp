#include "collector/recorder/target/inject.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <utility>

#include "collector/recorder/target/borrow_thread.h"
#include "collector/recorder/target/entry_code.h"
#include "collector/scan/memory/process_memory.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(1);
constexpr auto kMostLooking = std::chrono::seconds(5);   ///< for a thread that is asleep
constexpr auto kMostLoading = std::chrono::seconds(10);  ///< it can wait for the program's own loading
// How the child that traces ends.
constexpr int kLoads = 0;
constexpr int kNoThread = 2;
constexpr int kRefused = 3;

/// A field of /proc/PID/status, without blanks before it.
std::string status_field(pid_t pid, const std::string& name) {
  std::istringstream text(read_file(fmt::format("/proc/{}/status", pid)).value_or(""));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// The process opens what we mean by this path.
bool sees(pid_t pid, const std::string& path) {
  struct stat ours {};
  struct stat theirs {};
  return stat(path.c_str(), &ours) == 0 && stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/// Until a thread loads the library, or the time is over. In a process of its own, whose end lets all go.
[[noreturn]] void trace(pid_t pid, const EntryCode& code, const std::string& library,
                        const std::vector<scan::Region>& regions) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto until = Clock::now() + kMostLooking; Clock::now() < until; std::this_thread::sleep_for(kPause)) {
    for (const pid_t thread : threads_to_borrow(pid)) {
      switch (load_by(pid, thread, code, library, regions)) {
        case Borrowed::kLoads:
          _exit(kLoads);
        case Borrowed::kRefused:
          _exit(kRefused);
        case Borrowed::kNotAsleep:
          break;
      }
    }
  }
  _exit(kNoThread);
}

/// How the child ended: one of the above, or -1.
int traced_in_a_child(pid_t pid, const EntryCode& code, const std::string& library,
                      const std::vector<scan::Region>& regions) {
  const pid_t child = fork();
  if (child == 0) trace(pid, code, library, regions);
  if (child < 0) return -1;
  int status = 0;
  const auto until = Clock::now() + kMostLooking + std::chrono::seconds(1);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > until) {  // it lets go as it ends
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(kPause);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Error cannot(const TargetProcess& target, const std::string& why) {
  return {ErrorCode::kCannotRecord, fmt::format("{} {}", process_text(target.pid), why)};
}

}  // namespace

std::optional<Obstacle> injection_obstacle(const TargetProcess& target, const std::string& library) {
  const std::string who = process_text(target.pid);
  if (target.tracer != 0) {
    return Obstacle{fmt::format("{} is traced by {}", who, process_text(target.tracer)), "end that first"};
  }
  if (status_field(target.pid, "Seccomp") == "1") {
    return Obstacle{who + " may make next to no system calls (seccomp)", "nothing can be done in it"};
  }
  if (status_field(target.pid, "x86_Thread_features").find("shstk") != std::string::npos) {
    return Obstacle{who + " has a shadow stack, which a call from outside would break",
                    "start it by dc-memtrace run --standby"};
  }
  // The same right is needed to read what a thread waits in.
  if (!read_file(fmt::format("/proc/{}/syscall", target.pid))) {
    const bool yama = read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0") != "0\n";
    return Obstacle{who + " may not be traced by this user",
                    yama ? "be root, or start the program by dc-memtrace run --standby (kernel.yama.ptrace_scope)"
                         : "be root, or start the program by dc-memtrace run --standby"};
  }
  if (!sees(target.pid, library)) {
    return Obstacle{who + " sees other files than dc-memtrace, as in a container of its own",
                    "use a dc-memtrace that is installed there, or start the program by its run --standby"};
  }
  return std::nullopt;
}

Status inject(const TargetProcess& target, const std::string& library) {
  if (const auto obstacle = injection_obstacle(target, library)) return refusal(*obstacle);
  DCMT_ASSIGN_OR_RETURN(scan::ProcessMemory memory, scan::ProcessMemory::open(target.pid));
  const Expected<EntryCode> code = find_entry_code(memory);
  if (!code.ok()) return cannot(target, code.error().message);
  const int how = traced_in_a_child(target.pid, *code, library, memory.regions());
  if (how == kNoThread) {
    return Error{ErrorCode::kStopped,
                 fmt::format("{} has no thread that is asleep where it can be borrowed: attach again, or start the "
                             "program by dc-memtrace run --standby",
                             process_text(target.pid))};
  }
  if (how == kRefused) return cannot(target, "may not be traced: be root, or see whether somebody else traces it");
  if (how != kLoads) return cannot(target, "could not be entered: a thread of it did not stop. It goes on as it was");
  for (const auto until = Clock::now() + kMostLoading; Clock::now() < until; std::this_thread::sleep_for(kPause)) {
    const Expected<TargetProcess> now = look_at(target.pid);
    if (!now.ok()) return now.error();
    if (now->in_standby) return {};
  }
  return cannot(target,
                "has not loaded dc-memtrace's library within 10 s: it is loading others, or has no room for it "
                "(thread-local storage: GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 at its next start)");
}

}  // namespace dcmt::recorder
