// A process that a user wants to attach to, as /proc describes it, and what prevents that.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/target/launch.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// The kind of a program's file.
enum class Executable {
  kUnreadable,
  kDynamic,            ///< for this architecture, with a loader
  kStatic,             ///< for this architecture, without a loader
  kOtherArchitecture,  ///< for example 32 bits
};

/// Decides by the begin of a file, which usually has the program's headers.
Executable executable_of(const std::string& beginning);

struct TargetProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  uid_t user = 0;
  std::string name;                  ///< from the kernel, 15 characters
  std::vector<std::string> command;  ///< empty if it cannot be read
  char state = '?';                  ///< as in /proc/PID/stat: R, S, D, T (stopped), t (by its tracer), Z
  bool exits = false;                ///< it is exiting
  pid_t tracer = 0;                  ///< 0: none
  Executable executable = Executable::kUnreadable;
  bool has_torch = false;          ///< its libraries are loaded
  bool in_standby = false;         ///< it has a thread that waits for requests
  bool has_agent = false;          ///< our agent is loaded, though it may have no thread for requests
  bool has_agents_memory = false;  ///< the agent was loaded from memory, because the process does not see our files
  bool recorded_run = false;       ///< `dc-memtrace run` has begun to record it at its start
  Launch launch;                   ///< from its initial environment
};

/// "process 41" for a message, with its command's name if that can be read.
std::string process_text(pid_t pid);

/// A process that cannot be recorded.
inline Error cannot_record(std::string why) { return {ErrorCode::kCannotRecord, std::move(why)}; }

/// kCannotRecord in one line if the process does not exist.
Expected<TargetProcess> inspect_process(pid_t pid);

/// All processes in standby that this user may attach to, sorted by pid.
std::vector<TargetProcess> all_in_standby();
/// The same, and processes with torch and without our agent. Of a process and its forked children, which run the same
/// command, only the first one.
std::vector<TargetProcess> all_with_torch();

/// A condition that prevents an attach, and its remedy.
struct Obstacle {
  std::string what;    ///< "process 41 (python) is stopped"
  std::string remedy;  ///< "let it go on: kill -CONT 41"
};

/// The first condition that makes an attach impossible, even in standby; nothing if there is none.
std::optional<Obstacle> obstacle_of(const TargetProcess& target);
/// Why the process is not in standby, if it is not.
Obstacle why_not_in_standby(const TargetProcess& target);

/// The obstacle in one line.
Error refusal(const Obstacle& obstacle);

}  // namespace dcmt::recorder
