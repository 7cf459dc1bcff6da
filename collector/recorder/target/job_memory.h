// The memory of a whole job at one time: of its processes, its shared memory, and its control group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/target/cgroup_memory.h"
#include "collector/recorder/target/resident_memory.h"
#include "collector/recorder/target/shared_segments.h"

namespace dcmt::recorder {

enum class JobRole {
  kRecorded,
  kForked,    ///< from another process of the job, without an exec
  kChild,     ///< another descendant
  kRecorder,  ///< this process, and what it has started beside the job
  kAround,    ///< a process that started the recorder, and is in the job's control group
};

/// The name in the trace: static text.
[[nodiscard]] std::string_view name_of(JobRole role);

struct JobProcess {
  pid_t pid = 0, parent = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
  std::string name;         ///< of its main thread
  JobRole role = JobRole::kChild;
  std::int32_t rank = -1;  ///< -1: none, or not known
  SharedMemory memory;
};

struct JobMemory {
  std::int64_t ns = 0;                   ///< monotonic clock
  std::vector<JobProcess> processes;     ///< oldest first
  std::vector<SharedSegments> segments;  ///< most bytes first
  std::optional<CgroupUse> group;        ///< nothing: others run in the group, too, or it is not known
  std::int64_t changed = 0;              ///< difference of the group's use before and after the processes were read
  std::map<pid_t, std::uint64_t> members = {};  ///< the job's processes by start time, for the next reading
  double cpu_seconds = 0;                       ///< of this thread

  /// By it the samples are compared: without this tool, and without files, whose pages the kernel takes back.
  [[nodiscard]] std::int64_t own() const;
};

/// What a reading has to know.
struct JobQuestion {
  std::map<pid_t, std::int32_t> recorded = {};  ///< with their ranks
  pid_t first = 0;                              ///< the command's process; 0: none
  std::map<pid_t, std::uint64_t> members =
      {};                      ///< as of the reading before: a process whose parent has ended stays one
  std::set<pid_t> ended = {};  ///< members that have ended
  std::int64_t since_ns = 0;   ///< begin of the job, CLOCK_REALTIME
};

/// The kernel walks the page tables of each process, which takes milliseconds for each GiB.
[[nodiscard]] JobMemory read_job_memory(const JobQuestion& question);

}  // namespace dcmt::recorder
