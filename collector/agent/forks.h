// A forked child must not write to the inherited spool. It can only report that it allocates memory.
#pragma once

#include <cstddef>

namespace dcmt::agent {

/// Excludes the spool, mapped from `fd` at `base`, from forked children. False if that is impossible.
bool prepare_for_forks(int fd, void* base, std::size_t bytes) noexcept;

/// The spool is gone: forked children inherit the memory that replaced it.
void leave_forks() noexcept;

}  // namespace dcmt::agent
