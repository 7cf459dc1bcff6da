// What several passes over a running process agree on.
//
// What a pass found to hold something was read twice. That no root leads somewhere cannot be: while a pass goes on, a
// variable is given to an object that was passed already. So a cycle that nothing else holds must be there in each of
// several passes.
#pragma once

#include "collector/scan/census.h"

namespace dcmt::scan {

/// Holders without a root stay confirmed only where `earlier` confirmed the same one of the same storage, and Python's
/// collector ran in neither pass. Both are of one process.
void keep_agreed(Census& census, const Census& earlier);

/// A census of a running process. The first pass makes the next one quick, and the shorter a pass, the less changes
/// under it. As long as holders without a root are left, up to three more passes have to agree on them.
/// Fails as Censuses::take does.
[[nodiscard]] Expected<Census> take_agreed(Censuses& censuses, const CensusOptions& options);

}  // namespace dcmt::scan
