// The agent's end of the spool: creates the file, hands chunks to threads, appends records.
#pragma once

#include <cstdint>

#include "trace/base/detail.h"
#include "trace/spool/layout.h"
#include "trace/wire/records.h"

namespace dcmt::agent {

struct SpoolOptions {
  const char* folder;  ///< private folder made by the recorder
  std::uint32_t chunk_count;
  Detail detail;
  std::int32_t rank;  ///< -1 if none
  std::int32_t world_size;
};

/// Takes memory that a recorder has made, allocated and sealed, of file_bytes(options.chunk_count), as the spool of the
/// next session; `options.folder` means nothing. Its sequences leave kRoomForPast before them. Returns nullptr, or why
/// it could not; the descriptor stays the caller's.
const char* adopt_spool(int memory, const SpoolOptions& options) noexcept;

/// The counter's rate over the time since adopt_spool(), for the header.
void measure_clock() noexcept;

/// Gives the spool's memory back. Its addresses stay mapped: a thread that was inside a hook may still write there, and
/// the next session's spool comes to the same place.
void leave_spool() noexcept;

/// While true, the threads that are inside a guard write records though the gate is not open: those that start a
/// session. No hook is, then.
void set_starting(bool starting) noexcept;

/// Creates the spool's file under a hidden name, or memory without a file where the folder has none to give, allocates
/// all of it and maps it. Returns nullptr, or why it could not.
const char* open_spool(const SpoolOptions& options) noexcept;

/// Completes the header (the cycle counter's rate over the time since open_spool()) and shows the spool to the recorder
/// as `<folder>/<spool_name()>`. Returns nullptr, or why it could not.
const char* show_spool(const char* folder) noexcept;

/// The file's name once it is shown: `<pid>-<cycle counter in hex>.spool`, since a process that executes another
/// program keeps its pid. Empty before open_spool().
const char* spool_name() noexcept;

/// The spool's header, or nullptr before open_spool().
spool::Header* spool_header() noexcept;

/// `hook` runs on every thread that has recorded, when it ends.
void at_thread_end(void (*hook)() noexcept) noexcept;

/// Closes the calling thread's chunk, if it has one. Called when a thread ends.
void close_thread_chunk() noexcept;

}  // namespace dcmt::agent
