// Kinds of the mappings of a process, as the trace names them.
#pragma once

#include <array>
#include <string_view>

namespace dcmt::analyzer {

/// Those that have the objects of Python and the data of numpy's arrays.
inline constexpr std::array<std::string_view, 3> kKindsWithObjects = {"malloc", "python", "other"};

}  // namespace dcmt::analyzer
