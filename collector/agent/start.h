// How recording begins in a process.
#pragma once

#include <cstdint>

#include "trace/base/detail.h"

namespace dcmt::agent {

/// Looks whether torch is in the process by now and, at the first time it is, opens the spool, loads the providers and
/// opens the gate. Does nothing where the environment does not ask for recording, in compile workers, and after the
/// first start. Called at process start and when a Python extension is about to be initialised: moments at which the
/// loader is not busy and torch's own static constructors are done.
void start_if_torch_is_here() noexcept;

/// The same for a process that is to be recorded later: true once, at the first time that torch is there, where the
/// environment asks for standby.
bool standby_begins_here() noexcept;

/// Somebody asks for the address of the function that subscribes to CUPTI. CUPTI serves one, which is not to be us.
void make_way_for_cupti_user() noexcept;

/// True once a provider has said that nothing can be recorded here (refuse() of provider.h).
bool refused() noexcept;

/// What an attached recorder wants.
struct SessionOptions {
  int memory;  ///< the spool's, as of adopt_spool()
  std::uint32_t chunk_count;
  Detail detail;
  std::int32_t exit_wait;  ///< seconds
  bool kernels;            ///< observe launches and copies on GPUs
  const char* operators;   ///< path of the compiled table of operators; has to be there for as long as this call takes
  const char* libraries;   ///< folders of the providers
  const char* prepared;
};

/// Begins to record in a process that runs, on the calling thread, which is not the program's. Returns nullptr, or why
/// nothing is recorded, in one line.
const char* begin_session(const SessionOptions& options) noexcept;

/// Why the session that has begun does not observe launches and copies on GPUs, though that was asked for, in one line;
/// else nullptr.
const char* why_no_kernels() noexcept;

/// The recorder has found what the process had before: from here on, small blocks count in sums as in any recording.
void past_is_known() noexcept;

/// Ends that: what was hooked is put back. Does nothing if nothing is recorded.
void end_session() noexcept;

}  // namespace dcmt::agent
