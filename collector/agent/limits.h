// Whether the process can afford a spool: what the job is allowed is not ours to use up.
#pragma once

#include <cstddef>

namespace dcmt::agent {

/// nullptr if a file of `bytes` can be made on the file system of `fd` and mapped, and as much again stays free for the
/// job; otherwise which limit forbids it. Going beyond one would end the process: a file too large is SIGXFSZ.
const char* limit_on_spool(int fd, std::size_t bytes) noexcept;

}  // namespace dcmt::agent
