// The memory for arena() of provider.h.
#pragma once

namespace dcmt::agent {

/// Maps the pool for tables. Call it before any table is made; a table that is made earlier gets pages of its own. A
/// later call restores the pages of existing memory.
bool make_arena() noexcept;

/// Frees the pages of all tables. The tables keep their addresses and are zero, as after their creation. False if some
/// tables cannot be emptied. A thread that is still inside a hook reads zeros, and may write something.
bool empty_arena() noexcept;

}  // namespace dcmt::agent
