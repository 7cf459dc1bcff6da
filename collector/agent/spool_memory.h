// A spool without a file: memory that the recorder takes over by this process's descriptor of it. For where the spool
// folder does not lie in memory or has no room (containers give 64 MiB of shared memory).
#pragma once

#include <cstddef>

#include "trace/spool/layout.h"

namespace dcmt::agent {

/// True if the file's pages are never written to a disk: a store into one that is being written waits for the disk.
bool lies_in_memory(int fd) noexcept;

/// Memory of `bytes` that nobody can shrink, allocated now; -1 if there is none.
int make_spool_memory(std::size_t bytes) noexcept;

/// Makes `shown` a link to the memory, and waits (at most ten seconds, 25 ms as a rule) until a recorder has opened it;
/// the descriptor is closed then, so that the job's own descriptors keep their numbers. nullptr, or why it was not taken.
const char* hand_over_memory(int fd, const char* shown, const spool::Header& header) noexcept;

}  // namespace dcmt::agent
