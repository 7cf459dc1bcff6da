// The bytes of torch's CPU allocator, which the recorder counts for the recorded process. Freestanding.
#pragma once

#include <atomic>
#include <cstdint>

namespace dcmt::spool {

/// Part of the spool's header; sizes are in bytes. The recorder updates it each time it reads the spool.
struct CpuMemory {
  std::atomic<std::uint64_t> asked;      ///< written by the process: the recorder must count every record before this
                                         ///< sequence
  std::atomic<std::uint64_t> new_peaks;  ///< written by the process before `asked`: an increment restarts `highest`
  std::atomic<std::uint64_t> answered;   ///< the latest `asked` that the recorder has answered
  std::atomic<std::uint32_t> known;      ///< 0: not yet; 1: includes the memory from before the recording; 2: excludes
                                         ///< it
  std::atomic<std::uint64_t> allocated;
  std::atomic<std::uint64_t> peak;     ///< since the recording began
  std::atomic<std::uint64_t> highest;  ///< since `new_peaks` last changed
};

}  // namespace dcmt::spool
