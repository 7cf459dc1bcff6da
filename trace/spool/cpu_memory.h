// What torch's allocator of the CPU has, counted by the recorder for the process that it records. Freestanding.
#pragma once

#include <atomic>
#include <cstdint>

namespace dcmt::spool {

/// In the spool's header; bytes. The recorder writes them at each of its looks.
struct CpuMemory {
  std::atomic<std::uint64_t> asked;      ///< by the process: every record before this sequence is to be counted
  std::atomic<std::uint64_t> new_peaks;  ///< by the process, before it asks: one more for `highest` to begin anew
  std::atomic<std::uint64_t> answered;   ///< the latest `asked` that was met
  std::atomic<std::uint32_t> known;      ///< 1: with what there was before the recording; 2: without
  std::atomic<std::uint64_t> allocated;
  std::atomic<std::uint64_t> peak;     ///< since the recording began
  std::atomic<std::uint64_t> highest;  ///< since `new_peaks` has changed
};

}  // namespace dcmt::spool
