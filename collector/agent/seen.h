// The table of first_sight() in provider.h.
#pragma once

namespace dcmt::agent {

/// Makes the table unless it exists. Call it before the gate opens.
bool make_seen_table() noexcept;

}  // namespace dcmt::agent
