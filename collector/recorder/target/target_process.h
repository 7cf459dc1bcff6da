// What /proc says of a process that somebody wants to attach to, and what stands in the way.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/target/launch.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// What the file of a program is.
enum class Executable {
  kUnreadable,
  kDynamic,            ///< of this architecture, with a loader
  kStatic,             ///< of this architecture, without one
  kOtherArchitecture,  ///< such as 32 bits
};

/// By the beginning of a file, which has the program's headers as a rule.
Executable executable_of(const std::string& beginning);

struct TargetProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  uid_t user = 0;
  std::string name;                  ///< as the kernel has it, 15 characters
  std::vector<std::string> command;  ///< empty where it cannot be read
  char state = '?';                  ///< as in /proc/PID/stat: R, S, D, T (stopped), t (by its tracer), Z
  bool exits = false;                ///< on its way out
  pid_t tracer = 0;                  ///< 0: nobody
  Executable executable = Executable::kUnreadable;
  bool has_torch = false;          ///< its libraries are loaded
  bool in_standby = false;         ///< it has a thread that waits for requests
  bool has_agent = false;          ///< ours is loaded, though it may have nobody to ask
  bool has_agents_memory = false;  ///< loaded from memory, since it does not see our files
  bool recorded_run = false;       ///< `dc-memtrace run` has begun to record it at its start
  Launch launch;                   ///< by the environment that it was started with
};

/// "process 41" in a message, with its command's name where that can be read.
std::string process_text(pid_t pid);

/// kCannotRecord in one line if there is no such process.
Expected<TargetProcess> look_at(pid_t pid);

/// All that are in standby and may be attached to by this user, by pid.
std::vector<TargetProcess> all_in_standby();
/// The same with those that have torch and nothing of ours. Of a process and its forked children, which run the same
/// command, it is the first one.
std::vector<TargetProcess> all_with_torch();

/// Something that stands in the way of an attach, and what to do about it.
struct Obstacle {
  std::string what;    ///< "process 41 (python) is stopped"
  std::string remedy;  ///< "let it go on: kill -CONT 41"
};

/// The first thing that makes an attach impossible, whatever listens there; nothing if there is none.
std::optional<Obstacle> obstacle_of(const TargetProcess& target);
/// Why nobody listens there, if nobody does.
Obstacle why_not_in_standby(const TargetProcess& target);

/// In one line.
Error refusal(const Obstacle& obstacle);

}  // namespace dcmt::recorder
