// Reads pickles of plain data (protocols 2 to 5) and runs nothing: opcodes that name, make or change Python objects of
// other types are refused.
#pragma once

#include <string>

#include "convert/pickle/value.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// Takes no more memory than a few times the pickle's size, whatever is in it. Fails with kBadInput.
/// @param bytes  the pickle; what follows its STOP is left out, as Python does
/// @param name   of the file, as it is printed
Expected<PickleData> read_pickle(std::string bytes, const std::string& name);

/// Whether bytes begin as a pickle of protocol 2 or later does.
[[nodiscard]] bool begins_like_pickle(std::string_view bytes);

}  // namespace dcmt::convert
