// Reads pickles of plain data (protocols 2 to 5) without running anything: opcodes that name, make or change Python
// objects of other types are refused.
#pragma once

#include <string>

#include "convert/pickle/value.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// Needs at most a few times the pickle's size of memory, whatever its contents. Fails with kBadInput.
/// @param bytes  the pickle; bytes after its STOP are ignored, as in Python
/// @param name   of the file, as messages print it
Expected<PickleData> read_pickle(std::string bytes, const std::string& name);

/// True if bytes begin like a pickle of protocol 2 or later.
[[nodiscard]] bool begins_like_pickle(std::string_view bytes);

}  // namespace dcmt::convert
