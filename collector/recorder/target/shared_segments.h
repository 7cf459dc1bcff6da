// Segments of shared memory: files in /dev/shm, files in memory without a name, and shared mappings without a file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::recorder {

enum class SegmentKind : std::uint8_t {
  kTensors,   ///< that torch's processes share
  kNccl,      ///< between processes of one host
  kRecorder,  ///< spools of this tool
  kOther,
  kLeft,  ///< a file that no process has open
};

/// The name in the trace: static text.
[[nodiscard]] std::string_view name_of(SegmentKind kind);

/// The segments of one kind and owner.
struct SharedSegments {
  SegmentKind kind = SegmentKind::kOther;
  pid_t owner = 0;  ///< the process that torch's name has, or else the oldest one that has it; 0: not known
  std::int64_t segments = 0;
  std::int64_t bytes = 0;  ///< in memory, each segment once
  std::string name;        ///< of the largest
};

/// A mapping of shared memory, as a line of /proc/PID/maps has it.
struct SharedMapping {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t device = 0, inode = 0;
  std::string_view path;
};

/// Parses the text of /proc/PID/maps.
[[nodiscard]] std::vector<SharedMapping> shared_mappings(std::string_view maps);

/// @param processes  oldest first; those that may not be read are skipped
/// @param before  those that have ended: what torch's processes have left is found by their numbers
/// @param since_ns  other files in /dev/shm are the job's if they were made after this time (CLOCK_REALTIME) by this
///                  user, and no other process has them
/// @return most bytes first
[[nodiscard]] std::vector<SharedSegments> shared_segments(const std::vector<pid_t>& processes,
                                                          const std::set<pid_t>& before, std::int64_t since_ns);

}  // namespace dcmt::recorder
