// Begins and ends recording in a process.
#pragma once

#include <cstdint>

#include "trace/base/detail.h"

namespace dcmt::agent {

/// If torch is in the process for the first time, opens the spool, loads the providers and opens the gate. Does nothing
/// if the environment does not request recording, in compile workers, and after the first start. Called at process
/// start and before a Python extension is initialised: at these times the loader is idle and torch's static
/// constructors have run.
void start_if_torch_is_here() noexcept;

/// The same check for a process that is recorded later: true once, at the first time that torch is there, if the
/// environment requests standby.
bool standby_begins_here() noexcept;

/// Called when the program requests the address of the function that subscribes to CUPTI. CUPTI allows one subscriber,
/// and the program has priority.
void make_way_for_cupti_user() noexcept;

/// The options of an attached recorder.
struct SessionOptions {
  int memory;  ///< descriptor of the spool's memory, as for adopt_spool()
  std::uint32_t chunk_count;
  Detail detail;
  std::int32_t exit_wait;  ///< seconds
  bool kernels;            ///< observe launches and copies on GPUs
  bool native;             ///< sample allocations of C and C++
  const char* operators;   ///< path of the compiled table of operators; must exist during this call
  const char* libraries;   ///< folder of the providers
  const char* prepared;
};

/// Begins to record in a running program. The calling thread must not belong to the program. Returns nullptr, or one
/// line that says why nothing is recorded.
const char* begin_session(const SessionOptions& options) noexcept;

/// One line that says why the session does not observe launches and copies on GPUs although that was requested; else
/// nullptr.
const char* why_no_kernels() noexcept;

/// The recorder has found what the process had before. From here on, small blocks are recorded as sums, as in any
/// recording.
void past_is_known() noexcept;

/// Ends the session and restores what was hooked. Does nothing if nothing is recorded.
void end_session() noexcept;

}  // namespace dcmt::agent
