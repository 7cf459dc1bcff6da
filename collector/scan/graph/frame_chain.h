// The Python frames of a thread that runs on while they are read.
#pragma once

#include <vector>

#include "collector/scan/memory/mirror.h"
#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// The frames of the thread with this PyThreadState, the innermost first. Reads them anew, whatever the mirror has of
/// them, so no copy of their memory may be in use. Where the chain breaks off, because a function has returned
/// meanwhile, all of it is read again; after some readings, the longest one counts.
[[nodiscard]] std::vector<Address> frames_of(Address thread, Mirror& memory, ProcessTypes& types);

}  // namespace dcmt::scan
