// Reads the Python frames of a thread that runs meanwhile.
#pragma once

#include <vector>

#include "collector/scan/memory/mirror.h"
#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// The frames of the thread with this PyThreadState, innermost first. Reads them again even if the mirror has them, so
/// no copy of their memory may be in use. If the chain ends early, because a function has returned or a coroutine was
/// suspended meanwhile, all of it is read again. After some readings, the longest chain counts.
[[nodiscard]] std::vector<Address> frames_of(Address thread, Mirror& memory, ProcessTypes& types);

}  // namespace dcmt::scan
