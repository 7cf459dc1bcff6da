// The memory behind arena() of provider.h.
#pragma once

namespace dcmt::agent {

/// Makes the pool that tables are cut from. Called before any table is made; before it each has pages of its own. The
/// next time, what there is has its pages back.
bool make_arena() noexcept;

/// Gives the pages of all tables back: they stay where they are, and are zero as they were when they were made. False if
/// there are tables that cannot be emptied. Threads that still are in a hook see zeros, or leave something behind.
bool empty_arena() noexcept;

}  // namespace dcmt::agent
