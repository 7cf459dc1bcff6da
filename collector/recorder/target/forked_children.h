// Children that a process has forked, which share its memory until one of them writes to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// Bytes that are resident, by the kernel's count.
struct ChildMemory {
  std::int64_t resident = 0;
  std::int64_t unshared = 0;  ///< changed, and in no other process; with its part of what is in swap
};

/// The kernel walks the page tables of the process, which takes milliseconds for each GiB. Nothing if the process has
/// ended or may not be read.
[[nodiscard]] std::optional<ChildMemory> child_memory(pid_t pid);
/// Parses the text of /proc/PID/smaps_rollup.
[[nodiscard]] std::optional<ChildMemory> parse_rollup(std::string_view rollup);

}  // namespace dcmt::recorder
