// What occupies most memory now, for a view of the terminal.
#pragma once

#include <cstddef>
#include <vector>

#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/stack_places.h"
#include "collector/recorder/console/alive_group.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Of the device with the highest peak, most bytes first. Parameters, their gradients and the like, as the readings of
/// the program's variables know them, are a group each; all else is named by the line that made it.
[[nodiscard]] Expected<std::vector<AliveGroup>> alive_now(const Lifetimes& lifetimes, const OwnerBook& owners,
                                                          StackPlaces& places, std::size_t most);

}  // namespace dcmt::recorder
