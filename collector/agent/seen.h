// The table behind first_sight() of provider.h.
#pragma once

namespace dcmt::agent {

/// Makes the table. Called once before the gate opens.
bool make_seen_table() noexcept;

}  // namespace dcmt::agent
