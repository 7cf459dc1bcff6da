#include "cli/doctor_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "collector/recorder/target/borrow_thread.h"
#include "collector/recorder/target/entry_code.h"
#include "collector/recorder/target/inject.h"
#include "collector/recorder/target/standby.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/printable.h"
#include "trace/base/process_read.h"
#include "trace/base/read_file.h"

namespace dcmt::cli {
namespace {

Check passed(std::string name, std::string found, bool needed = true) {
  return {std::move(name), true, needed, std::move(found), ""};
}

Check failed(std::string name, const recorder::Obstacle& obstacle) {
  return {std::move(name), false, true, obstacle.what, obstacle.remedy};
}

/// Tests whether a byte of the process's memory can be read.
Check check_reading(pid_t pid) {
  const std::string maps = read_file(fmt::format("/proc/{}/maps", pid)).value_or("");
  const std::uint64_t address = std::strtoull(maps.c_str(), nullptr, 16);
  char byte = 0;
  if (address != 0 && ProcessBytes(pid).read_all(address, &byte, 1)) {
    return passed("memory", "can be read: snapshot works, and holders are named", false);
  }
  const std::string why = maps.empty() ? "its mappings cannot be read" : std::strerror(errno);
  const bool yama = read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0").starts_with('1');
  return {"memory", false, false, "cannot be read (" + why + "): snapshot does not work",
          yama ? "attach all the same, the process then permits it; for snapshot: be root, or its parent"
               : "for snapshot: run as the same user, or as root; in a container, with the capability SYS_PTRACE"};
}

Check check_standby(const recorder::TargetProcess& target) {
  const Expected<recorder::StandbyState> state = recorder::standby_state(target.pid);
  if (state.ok() && !state->recorded) {
    return passed("standby",
                  fmt::format("it waits; {} recording{} so far", state->recordings, state->recordings == 1 ? "" : "s"));
  }
  if (state.ok()) {
    return failed("standby", {fmt::format("it is recorded already, by process {}", state->recorder),
                              fmt::format("wait, or end that: dc-memtrace detach {}", target.pid)});
  }
  if (state.error().code == ErrorCode::kStopped) {
    return failed("standby", {"it does not answer: it begins or ends a recording, or waits for Python's lock",
                              "try again in a while"});
  }
  if (target.in_standby) {
    return failed("standby", {"it waits, but its socket is not to be found", "is its XDG_RUNTIME_DIR, or /tmp, gone?"});
  }
  return failed("standby", recorder::why_not_in_standby(target));
}

/// Tests whether a process that is not in standby can be put there.
Check check_entry(const recorder::TargetProcess& target) {
  if (!target.has_torch) {
    return failed("entry", {"attach puts the agent only into a process that has imported torch",
                            fmt::format("dc-memtrace attach {} --wait", target.pid)});
  }
  if (target.has_agent) return failed("entry", recorder::why_not_in_standby(target));
  if (const auto obstacle = recorder::injection_obstacle(target)) return failed("entry", *obstacle);
  const std::size_t threads = recorder::threads_to_borrow(target.pid).size();
  if (threads == 0) {
    if (recorder::has_python_loop(target.pid)) {
      return passed("entry",
                    "attach can put the agent into it: no thread is asleep now, one that runs Python is borrowed");
    }
    return failed("entry", {"no thread of it is asleep now where it can be borrowed, and none runs Python",
                            "try again, or start it by dc-memtrace run --standby"});
  }
  return passed("entry", fmt::format("attach can put the agent into it: {} thread{} to be borrowed", threads,
                                     threads == 1 ? "" : "s"));
}

}  // namespace

bool ProcessDiagnosis::can_attach() const {
  return std::ranges::all_of(checks, [](const Check& check) { return check.ok || !check.needed; });
}

ProcessDiagnosis diagnose_process(pid_t pid) {
  ProcessDiagnosis diagnosis;
  diagnosis.pid = pid;
  const Expected<recorder::TargetProcess> target = recorder::inspect_process(pid);
  if (!target.ok()) {
    diagnosis.checks.push_back(
        {"process", false, true, target.error().message, "name one that runs: dc-memtrace status"});
    return diagnosis;
  }
  if (const auto obstacle = recorder::obstacle_of(*target)) {
    diagnosis.checks.push_back(failed("process", *obstacle));
    return diagnosis;
  }
  std::string found = recorder::process_text(pid) + " runs";
  if (target->tracer != 0) found += ", traced by " + recorder::process_text(target->tracer);
  if (target->launch.rank >= 0) found += fmt::format(", rank {} of {}", target->launch.rank, target->launch.world_size);
  diagnosis.checks.push_back(passed("process", found));
  diagnosis.checks.push_back(check_standby(*target));
  if (!target->in_standby && !target->recorded_run) {
    // Only one of the two ways is needed.
    diagnosis.checks.back().needed = false;
    diagnosis.checks.push_back(check_entry(*target));
  }
  diagnosis.checks.push_back(
      target->has_torch
          ? passed("torch", "its libraries are loaded")
          : failed("torch", {"its libraries are not loaded", "attach when it has imported torch, or with --wait"}));
  diagnosis.checks.push_back(check_reading(pid));
  return diagnosis;
}

}  // namespace dcmt::cli
