// Whether the process can afford a spool: what the job is allowed is not ours to use up.
#pragma once

#include <cstddef>

namespace dcmt::agent {

/// True if a file of `bytes` has room on the file system of `fd`, and as much again stays free for the job.
bool has_room(int fd, std::size_t bytes) noexcept;

/// nullptr if the process may make a file of `bytes` and map it, and as much address space again stays free for the job;
/// otherwise which limit forbids it. Going beyond one would end the process: a file too large is SIGXFSZ.
const char* limit_on_spool(std::size_t bytes) noexcept;

}  // namespace dcmt::agent
