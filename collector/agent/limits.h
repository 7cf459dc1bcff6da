// Checks whether the process can afford a spool: it must not use up the job's limits.
#pragma once

#include <cstddef>

namespace dcmt::agent {

/// True if the file system of `fd` has space for a file of `bytes`, and the same amount stays free for the job.
bool has_room(int fd, std::size_t bytes) noexcept;

/// nullptr if the process may make and map a file of `bytes` while the same amount of address space stays free for the
/// job; otherwise the name of the limit that forbids it. Exceeding a limit could end the process: a file that is too
/// large raises SIGXFSZ.
const char* limit_on_spool(std::size_t bytes) noexcept;

}  // namespace dcmt::agent
