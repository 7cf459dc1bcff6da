// The table behind first_sight() of provider.h.
#pragma once

namespace dcmt::agent {

/// Makes the table, if there is none. Called before the gate opens.
bool make_seen_table() noexcept;

}  // namespace dcmt::agent
