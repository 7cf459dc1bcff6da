// Notices that the control group of a process is about to run out of memory: then the kernel kills without a word.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "collector/recorder/target/cgroup_memory.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class LimitAlarm {
 public:
  explicit LimitAlarm(pid_t pid) : cgroup_(CgroupMemory::of(pid)) {}

  /// True if memory has come near the limit since the last call, and again each time that it has come nearer. Call it
  /// often: it looks every 20 ms.
  bool rings();

  /// How near it is: 0 is far, each further level a fiftieth of the limit nearer. Page cache does not count, because
  /// the kernel takes it back first.
  [[nodiscard]] static int level_of(const CgroupUse& use, std::int64_t limit);

 private:
  const CgroupMemory cgroup_;
  std::int64_t next_ns_ = 0;
  int level_ = 0;
};

}  // namespace dcmt::recorder
