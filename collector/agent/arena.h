// The memory behind arena() of provider.h.
#pragma once

namespace dcmt::agent {

/// Makes the pool that tables are cut from. Called once before any table is made; before it each has pages of its own.
bool make_arena() noexcept;

}  // namespace dcmt::agent
