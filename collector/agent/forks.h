// What a forked child inherits of the spool: nothing it could write into, and a place to say that it computes.
#pragma once

#include <cstddef>

namespace dcmt::agent {

/// Keeps the spool, mapped from `fd` at `base`, out of forked children. False if that is not possible.
bool prepare_for_forks(int fd, void* base, std::size_t bytes) noexcept;

/// The spool has gone: a forked child inherits what came in its place.
void leave_forks() noexcept;

}  // namespace dcmt::agent
