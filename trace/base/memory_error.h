// The note of a program of Python that ends with a MemoryError.
#pragma once

#include <string_view>

namespace dcmt {

/// Begins the text that the agent publishes, "MemoryError at train.py:4 load; ...". The recorder prints it, too.
inline constexpr std::string_view kMemoryErrorNote = "MemoryError";

}  // namespace dcmt
