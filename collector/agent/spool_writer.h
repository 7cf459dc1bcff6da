// The agent's end of the spool: creates the file, assigns chunks to threads, appends records.
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

/// Uses memory that a recorder has made, allocated and sealed, of file_bytes(options.chunk_count) bytes, as the spool
/// of the next session; `options.folder` is ignored. Sequences begin after the kRoomForPast reserved ones. Returns
/// nullptr, or why it failed. The caller keeps the descriptor.
const char* adopt_spool(int memory, const SpoolOptions& options) noexcept;

/// Writes the counter's rate, measured since adopt_spool(), to the header.
void measure_clock() noexcept;

/// Frees the spool's memory. Its addresses stay mapped: a thread that was inside a hook may still write there, and the
/// next session's spool uses the same addresses.
void leave_spool() noexcept;

/// While true, threads inside a guard may write records although the gate is closed: these threads start a session. No
/// hook writes then.
void set_starting(bool starting) noexcept;

/// Creates the spool's file under a hidden name; if the folder has no space, it uses memory without a file. Allocates
/// and maps all of it. Returns nullptr, or why it failed.
const char* open_spool(const SpoolOptions& options) noexcept;

/// Completes the header (the cycle counter's rate since open_spool()) and publishes the spool as
/// `<folder>/<spool_name()>`. Returns nullptr, or why it failed.
const char* show_spool(const char* folder) noexcept;

/// The file's name after show_spool(): `<pid>-<cycle counter in hex>.spool`. The pid alone is not enough, because a
/// process that executes another program keeps it. Empty before open_spool().
const char* spool_name() noexcept;

/// The spool's header, or nullptr before open_spool().
spool::Header* spool_header() noexcept;

/// `hook` runs at the end of every thread that has recorded.
void at_thread_end(void (*hook)() noexcept) noexcept;

/// Closes the calling thread's chunk, if there is one. Called when a thread ends.
void close_thread_chunk() noexcept;

}  // namespace dcmt::agent
