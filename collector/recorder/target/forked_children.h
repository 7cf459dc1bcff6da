// Children that a process has forked, which share its memory until one of them writes to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dcmt::recorder {

struct ForkedChild {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
  std::string name;         ///< of its main thread: "pt_data_worker"
};

/// The live descendants of a process that run its program since a fork, without an exec. Empty if the kernel does not
/// say so: the process is another user's, or gone.
[[nodiscard]] std::vector<ForkedChild> forked_children(pid_t of);

}  // namespace dcmt::recorder
