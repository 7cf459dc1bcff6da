// Requests the bytes of torch's CPU allocator from the recorder.
#pragma once

#include <cstdint>

namespace dcmt::agent {

struct CpuMemoryNow {
  std::uint64_t allocated = 0;  ///< bytes
  std::uint64_t peak = 0;       ///< since the recording began
  std::uint64_t highest = 0;    ///< since the peak was last restarted
  bool complete = false;        ///< includes the memory from before the recording
};

/// Gets the bytes as of this call, if the recorder answers in time; with a timeout of 0 ns, as of its latest count. It
/// waits, so do not call it on a thread that is in a hook.
/// @param begins_anew  restarts `highest` with the sum at this call
/// @return false: the process is not recorded, the recorder still reads what it had before, or there was no answer
bool ask_cpu_memory(CpuMemoryNow& now, std::uint64_t timeout_ns, bool begins_anew) noexcept;

}  // namespace dcmt::agent
