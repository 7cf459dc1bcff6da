// A spool without a file: memory that the recorder opens through a descriptor of this process. It is used if the spool
// folder is not in memory or is full (containers have only 64 MiB of shared memory).
#pragma once

#include <cstddef>

#include "trace/spool/layout.h"

namespace dcmt::agent {

/// True if the file's pages are never written to a disk: a store into a page that is being written would wait for the
/// disk.
bool lies_in_memory(int fd) noexcept;

/// Allocates memory of `bytes` that no process can shrink; -1 if there is none.
int make_spool_memory(std::size_t bytes) noexcept;

/// Makes `shown` a link to the memory, and waits until a recorder has opened it (at most ten seconds, usually 25 ms).
/// Then it closes the descriptor, so that descriptors of the job keep their numbers. Returns nullptr, or why it failed.
const char* hand_over_memory(int fd, const char* shown, const spool::Header& header) noexcept;

}  // namespace dcmt::agent
