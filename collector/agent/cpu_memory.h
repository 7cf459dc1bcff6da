// Asking the recorder what torch's allocator of the CPU has.
#pragma once

#include <cstdint>

namespace dcmt::agent {

struct CpuMemoryNow {
  std::uint64_t allocated = 0;  ///< bytes
  std::uint64_t peak = 0;       ///< since the recording began
  std::uint64_t highest = 0;    ///< since it was begun anew
  bool complete = false;        ///< with what there was before the recording
};

/// As of this call if the recorder answers in time; with 0 ns, as of its latest count. Waits, so not on a hook's thread.
/// @param begins_anew  `highest` is the sum at this call from here on
/// @return false: the process is not recorded, what it had before is being read, or there was no answer
bool ask_cpu_memory(CpuMemoryNow& now, std::uint64_t timeout_ns, bool begins_anew) noexcept;

}  // namespace dcmt::agent
