// Keeps only what several passes over a running process agree on.
//
// What a pass found to hold something was read twice. But one pass cannot prove that no root leads to an object: during
// the pass, the program may store a reference in a variable that was inspected already. So a cycle without a root must
// be found in each of several passes.
#pragma once

#include "collector/scan/census.h"

namespace dcmt::scan {

/// Holders without a root stay confirmed only if `earlier` confirmed the same holder of the same storage, and Python's
/// collector ran in neither pass. Both censuses must be of the same process.
void keep_agreed(Census& census, const Census& earlier);

/// Takes a census of a running process. The first pass makes the next one quick, and in a shorter pass fewer objects
/// change. While holders without a root are left, up to three more passes must agree on them.
/// Fails like Censuses::take.
[[nodiscard]] Expected<Census> take_agreed(Censuses& censuses, const CensusOptions& options);

}  // namespace dcmt::scan
