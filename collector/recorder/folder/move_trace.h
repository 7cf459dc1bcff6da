// Moves a finished trace to the output folder, which may be on another machine.
#pragma once

#include <string>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Copies the trace, as one file, to a hidden name in `folder`, and makes sure that it is stored. Then the copy gets
/// the trace's name, and the trace is removed. If another file has the name, the copy gets the next number. Returns its
/// path. kIo in one line that ends with where the trace still is, if there is no room or no permission; no part of a
/// copy stays.
Expected<std::string> move_trace(const std::string& trace, const std::string& folder);

/// Removes what is left of copies of this trace whose process was killed.
void remove_partial_copies(const std::string& folder, const std::string& name);

}  // namespace dcmt::recorder
